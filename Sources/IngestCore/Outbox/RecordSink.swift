import KafkaClient
import Synchronization

/// Where an outbox delivers records.
protocol RecordSink: Sendable {
    /// Delivers records in their order; returns when all are delivered.
    ///
    /// - Throws: where one could not be delivered; all may be sent again then.
    func deliver(_ records: [ProducerRecord]) throws

    /// Asks a delivery, also one under way, to wait only briefly from now on: the worker is about to end.
    func prepareToStop()

    /// Gives up what is not delivered, and the connection.
    func close()
}

/// Delivers records to Kafka through a producer of its own.
///
/// The sink keeps records on their way, however long the broker is away, and does not send them a second time. After
/// any error but a wait that was too short it gives up the producer with all that it holds. So no record stands in a
/// queue twice, and an error that the producer cannot recover from ends with it.
final class KafkaRecordSink: RecordSink {
    private struct State: Sendable {
        var producer: Producer?
        /// The records that the producer holds and may not have delivered.
        var underway: [ProducerRecord] = []
    }

    private let configuration: KafkaConfiguration
    private let timeoutMilliseconds: Int
    private let state: Mutex<State>
    private let isStopping = Atomic<Bool>(false)

    /// Makes a sink with a producer of its own.
    ///
    /// - Parameters:
    ///   - configuration: the producer's; without a `message.timeout.ms` no record expires in the queue.
    ///   - timeoutMilliseconds: how long one wait for deliveries may take.
    /// - Throws: `KafkaError` where a property is unknown or refused.
    init(configuration: KafkaConfiguration, timeoutMilliseconds: Int = 10_000) throws {
        // A record that expired in the queue while the one behind it is sent would come too late: out of order.
        let timeout = configuration["message.timeout.ms"] ?? "0"
        self.configuration = configuration.setting("message.timeout.ms", to: timeout)
        self.timeoutMilliseconds = timeoutMilliseconds
        state = Mutex(State(producer: try Producer(configuration: self.configuration)))
    }

    /// Sends records and waits until all are delivered.
    ///
    /// After a wait that was too short it goes on waiting for what is underway, if it is given that again first.
    ///
    /// - Throws: `KafkaError` where one was refused or not delivered in time.
    func deliver(_ records: [ProducerRecord]) throws {
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
        let producer = try state.producer ?? Producer(configuration: configuration)
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

    /// Shortens what is left of a wait for the broker to two seconds.
    func prepareToStop() { isStopping.store(true, ordering: .releasing) }

    /// Gives up what is not delivered; the next worker sends it again.
    func close() { state.withLock { Self.drop(&$0) } }

    private func flush(_ producer: Producer) throws {
        var deadline = HealthMonitor.monotonicSeconds() + Double(timeoutMilliseconds) / 1000
        while true {
            do {
                return try producer.flush(timeoutMilliseconds: 250)
            } catch let error as KafkaError where error.code == .timedOut {
                let time = HealthMonitor.monotonicSeconds()
                if isStopping.load(ordering: .acquiring) { deadline = min(deadline, time + 2) }
                if time >= deadline { throw error }
            }
        }
    }
}
