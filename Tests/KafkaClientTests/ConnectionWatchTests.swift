import TestSupport
import Testing

@testable import KafkaClient

/// What a consumer is told of connections that end: each one that stood, for whatever reason.
@Suite struct ConnectionWatchTests {
    private let zero = TopicPartition("t", 0)

    /// Reads without a group, so that one connection carries all.
    private func consumer(_ broker: EmbeddedBroker, _ change: (inout KafkaConfiguration) -> Void = { _ in }) throws
        -> Consumer
    {
        var configuration = broker.configuration(["group.id": "free", "reconnect.backoff.max.ms": "100"])
        change(&configuration)
        let consumer = try Consumer(withoutGroup: configuration)
        try consumer.assign(adding: [zero: -2])
        return consumer
    }

    private func hasLoss(_ consumer: Consumer) throws -> Bool {
        try consumer.poll(maxRecords: 50, timeoutMilliseconds: 100).errors
            .contains { $0.error.code == .connectionLost }
    }

    @Test func `only the end of an established connection is a loss, told once`() {
        let watch = ConnectionWatch()
        func enter(_ states: String..., number: Int32 = 1, of broker: UInt = 1) {
            for state in states { watch.note(state: state, number: number, of: broker) }
        }
        enter("INIT", "TRY_CONNECT", "CONNECT", "APIVERSION_QUERY", "DOWN", "TRY_CONNECT", "CONNECT", "DOWN")
        #expect(!watch.takeLoss())
        enter("TRY_CONNECT", "CONNECT", "APIVERSION_QUERY", "UP", "REAUTH", "UP", "UPDATE", "UP")
        #expect(!watch.takeLoss())
        enter("CONNECT", "DOWN", number: 2, of: 2)
        #expect(!watch.takeLoss(), "another broker cannot be reached")
        enter("DOWN")
        #expect(watch.takeLoss())
        #expect(!watch.takeLoss())
        enter("TRY_CONNECT", "CONNECT", "DOWN")
        #expect(!watch.takeLoss())
        enter("UP", "DOWN", number: -1, of: 3)
        #expect(!watch.takeLoss(), "it was there to learn the brokers by")
        enter("UP", number: -1)
        enter("UPDATE", "DOWN")
        #expect(watch.takeLoss(), "the library has learnt meanwhile which broker it is")
    }

    /// With librdkafka 2.16.1 the error callback tells nothing while another broker can be reached.
    @Test func `the loss of one broker of several is reported`() throws {
        let broker = try EmbeddedBroker(brokers: 3)
        try broker.createTopic("t", partitions: 1)
        try broker.setLeader(of: zero, broker: 2)
        try broker.fill("t", count: 5)
        let consumer = try consumer(broker)
        _ = try consumer.read(5)
        try broker.setDown(broker: 2)
        try wait(for: "the loss") { try hasLoss(consumer) }
        try consumer.close()
    }

    /// The library's log and its errors leave out what repeats the last error within 30 seconds.
    @Test func `each break of a connection is reported`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        try broker.fill("t", count: 1)
        let consumer = try consumer(broker)
        _ = try consumer.read(1)
        for round in 1...3 {
            try broker.failNext(.fetch, with: [.transport])
            try wait(for: "loss \(round)") { try hasLoss(consumer) }
            try broker.fill("t", count: 1, from: round)
            #expect(try consumer.read(1).map(\.offset) == [Int64(round)])
        }
        try consumer.close()
    }

    @Test func `an attempt to connect that fails is no loss`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        try broker.fill("t", count: 5)
        let states = Collected<String>()
        let consumer = try consumer(broker) {
            $0.properties["debug"] = "broker"
            $0.onLog = { _, facility, text in if facility == "STATE" { states.append(text) } }
        }
        func count(_ state: String) -> Int { states.values.count { $0.hasSuffix("-> \(state)") } }
        _ = try consumer.read(5)
        try broker.setDown()
        var losses = 0
        try wait(for: "the loss and attempts that fail") {
            if try hasLoss(consumer) { losses += 1 }
            return losses > 0 && count("DOWN") >= count("UP") + 5
        }
        #expect(losses <= count("UP"))
        try broker.setUp()
        try consumer.close()
    }
}
