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
}

/// Delivers records through a producer of its own.
final class KafkaRecordSink: RecordSink {
    private let producer: Producer
    private let timeoutMilliseconds: Int
    private let isStopping = Atomic<Bool>(false)

    /// Makes a sink on a producer that nothing else uses, and which stays the caller's to close.
    ///
    /// - Parameters:
    ///   - producer: where records are sent.
    ///   - timeoutMilliseconds: how long one wait for deliveries may take.
    init(producer: Producer, timeoutMilliseconds: Int) {
        self.producer = producer
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Sends records and waits until all are delivered.
    ///
    /// - Throws: `KafkaError` where one was refused or not delivered in time.
    func deliver(_ records: [ProducerRecord]) throws {
        for record in records { try producer.enqueue(record, makingRoom: flush) }
        try flush()
    }

    /// Shortens what is left of a wait for the broker to two seconds.
    func prepareToStop() { isStopping.store(true, ordering: .releasing) }

    private func flush() throws {
        try producer.flush(timeoutMilliseconds: timeoutMilliseconds) { isStopping.load(ordering: .acquiring) }
    }
}
