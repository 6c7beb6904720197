import GraphModel
import KafkaClient
import Synchronization

/// Where an outbox delivers records.
///
/// The outbox calls ``deliver(_:)`` once or more and then ``finish(through:)``: that is a batch. Where either throws, it
/// delivers the batch again later.
package protocol RecordSink: Sendable {
    /// The watch of the topic for lost records, or nil where nobody watches it.
    var sentTopic: SentTopic? { get }

    /// Delivers records in their order; returns when all are delivered.
    ///
    /// - Throws: where one could not be delivered; all may be sent again then.
    func deliver(_ records: [ProducerRecord]) throws

    /// Ends a batch: readers may have everything through the entry of that number.
    ///
    /// - Throws: where the batch has to be delivered again.
    func finish(through entry: Int64) throws

    /// Returns the number of the last entry that the sink knows to be finished, or nil where it keeps none.
    ///
    /// - Throws: where the sink cannot find it out now.
    func finishedEntry() throws -> Int64?

    /// Asks a delivery, also one under way, to wait only briefly from now on: the worker is about to end.
    func prepareToStop()

    /// Gives up what is not delivered, and the connection.
    func close()
}

extension RecordSink {
    /// Nobody watches.
    package var sentTopic: SentTopic? { nil }
    /// Does nothing: every record is delivered by itself.
    package func finish(through entry: Int64) throws {}
    /// Knows none.
    package func finishedEntry() throws -> Int64? { nil }
    /// Does nothing.
    package func prepareToStop() {}
    /// Does nothing.
    package func close() {}
}

/// Delivers records to Kafka through a producer of its own.
///
/// The sink keeps records on their way, however long the broker is away, and does not send them a second time. After
/// any error but a wait that was too short it gives up the producer with all that it holds. So no record stands in a
/// queue twice, and an error that the producer cannot recover from ends with it.
package final class KafkaRecordSink: RecordSink {
    private struct State: Sendable {
        var producer: Producer?
        /// The records that the producer holds and may not have delivered.
        var underway: [ProducerRecord] = []
    }

    package let sentTopic: SentTopic?
    private let configuration: KafkaConfiguration
    private let timeoutMilliseconds: Int
    private let state: Mutex<State>
    private let isStopping = Atomic<Bool>(false)

    /// Makes a sink with a producer of its own.
    ///
    /// - Parameters:
    ///   - configuration: the producer's; without a `message.timeout.ms` no record expires in the queue.
    ///   - isGapless: whether the library stops behind a record that the broker refused, where the producer is
    ///     idempotent. Readers that pass over older entries then miss none.
    ///   - sentTopic: takes the places of delivered records.
    ///   - timeoutMilliseconds: how long one wait for deliveries may take.
    /// - Throws: `KafkaError` where a property is unknown or refused.
    package init(
        configuration: KafkaConfiguration, isGapless: Bool = false, sentTopic: SentTopic? = nil,
        timeoutMilliseconds: Int = 10_000
    ) throws {
        var configuration = configuration
        if isGapless, configuration["enable.idempotence"] ?? "true" == "true" {
            configuration["enable.gapless.guarantee"] = configuration["enable.gapless.guarantee"] ?? "true"
        }
        // A record that expired in the queue while the one behind it is sent would come too late: out of order.
        let timeout = configuration["message.timeout.ms"] ?? "0"
        self.configuration = configuration.setting("message.timeout.ms", to: timeout)
        self.timeoutMilliseconds = timeoutMilliseconds
        self.sentTopic = sentTopic
        state = Mutex(State(producer: try Self.producer(self.configuration, sentTopic)))
    }

    private static func producer(_ configuration: KafkaConfiguration, _ sentTopic: SentTopic?) throws -> Producer {
        try Producer(configuration: configuration, onDelivery: sentTopic?.onDelivery)
    }

    /// Sends records and waits until all are delivered.
    ///
    /// After a wait that was too short it goes on waiting for what is underway, if it is given that again first.
    ///
    /// - Throws: `KafkaError` where one was refused or not delivered in time.
    package func deliver(_ records: [ProducerRecord]) throws {
        try state.withLock { state in
            do {
                try deliver(records, &state)
            } catch let error as KafkaError where error.code == .timedOut {
                throw state.producer?.explain(error) ?? error
            } catch {
                Self.drop(&state)
                throw error
            }
        }
    }

    private func deliver(_ records: [ProducerRecord], _ state: inout State) throws {
        let producer = try state.producer ?? Self.producer(configuration, sentTopic)
        state.producer = producer
        var rest = records[...]
        if !state.underway.isEmpty {
            try flush(producer)
            if records.starts(with: state.underway) { rest = rest.dropFirst(state.underway.count) }
            state.underway = []
        }
        for record in rest {
            try producer.enqueue(record, makingRoom: { try flush(producer) })
            state.underway.append(record)
        }
        try flush(producer)
        state.underway = []
    }

    private static func drop(_ state: inout State) {
        try? state.producer?.close(timeoutMilliseconds: 0)
        state = State()
    }

    /// Shortens the rest of a wait for the broker to two seconds.
    package func prepareToStop() { isStopping.store(true, ordering: .releasing) }

    /// Gives up what is not delivered; the next worker sends it again.
    package func close() { state.withLock { Self.drop(&$0) } }

    private func flush(_ producer: Producer) throws {
        var deadline = MonotonicClock.seconds() + Double(timeoutMilliseconds) / 1000
        while true {
            do {
                return try producer.flush(timeoutMilliseconds: 250)
            } catch let error as KafkaError where error.code == .timedOut {
                let time = MonotonicClock.seconds()
                if isStopping.load(ordering: .acquiring) { deadline = min(deadline, time + 2) }
                if time >= deadline { throw error }
            }
        }
    }
}
