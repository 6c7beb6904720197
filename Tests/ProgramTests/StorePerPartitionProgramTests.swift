import Foundation
import KafkaClient
import TestSupport
import Testing

/// Processes with a store for each partition, against the mock cluster, which gives up members that were killed.
@Suite(.serialized) struct StorePerPartitionProgramTests {
    private let broker: EmbeddedBroker
    private let workspace: Workspace
    private let partitions = ["0", "1", "2", "3"]

    init() throws {
        broker = try EmbeddedBroker()
        workspace = try Workspace()
        try broker.createTopic("events", partitions: 4)
        try broker.createTopic("changes", partitions: 1)
    }

    private var arguments: [String] {
        [
            "topics=events", "store.path=\(workspace.path("store-{partition}.sqlite"))", "http.port=0",
            "notifications.topic=changes", "kafka.bootstrap.servers=\(broker.bootstrapServers)",
            "kafka.group.id=shared", "kafka.session.timeout.ms=6000",
        ].flatMap { ["--set", $0] }
    }

    /// Sends messages of many chats, each of which is in one partition.
    private func send(_ range: Range<Int>) throws {
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for number in range {
            let chat = number % 37
            let event =
                #"{"specversion":"1.0","id":"\#(number)","source":"/t","type":"message.upserted","#
                + #""data":{"id":"m\#(number)","chat":"chat-\#(chat)","body":"text"}}"#
            try producer.enqueue(
                ProducerRecord(
                    topic: "events", partition: Int32(chat % partitions.count), key: nil, value: [UInt8](event.utf8)))
        }
        try producer.flush(timeoutMilliseconds: 60_000)
    }

    private func ids(_ entity: String) throws -> [String] {
        try partitions.flatMap { partition in
            try Foreign.sqlite(workspace.path("store-\(partition).sqlite"), "SELECT id FROM \(entity)")
                .split(separator: "\n").map { String($0) }
        }
    }

    private func count() -> Int { (try? ids("Message").count) ?? 0 }

    @Test func `two processes hold the log together, and one takes over when the other is killed`() throws {
        try send(0..<600)
        let programs = try [Program(["run"] + arguments), Program(["run"] + arguments)]
        try wait(for: "the first messages") { count() == 600 }
        try wait(for: "both in the group") { programs.allSatisfy { $0.errors.contains("event=assigned") } }
        try programs[0].crash()
        try send(600..<1_200)
        try wait(for: "all messages") { count() == 1_200 }
        programs[1].send(SIGTERM)
        try programs[1].expectGoodEnd()
        #expect(try ids("Message").sorted() == (0..<1_200).map { "m\($0)" }.sorted())
        #expect(try ids("Chat").count == 37)
        for partition in partitions {
            let store = workspace.path("store-\(partition).sqlite")
            #expect(try Foreign.sqlite(store, "SELECT DISTINCT partition FROM _position") == partition)
            let verified = try Program.run(["verify", "--store", partition] + arguments)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
    }
}
