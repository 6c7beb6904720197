import KafkaClient
import Synchronization

/// Sends records to a topic in Kafka transactions, a batch in each, together with the number of its last entry.
///
/// The broker keeps the number as the offset of a consumer group, which belongs to one store. So a reader with
/// `isolation.level=read_committed` has each record once, whenever the worker was killed.
package final class TransactionalRecordSink: RecordSink {
    private struct State: Sendable {
        var producer: Producer?
        var isOpen = false
    }

    package let sentTopic: SentTopic?
    private let configuration: KafkaConfiguration
    private let topic: String
    private let group: String
    /// How long a step may take.
    private static let timeoutMilliseconds = 10_000
    private let admin: Admin
    private let state = Mutex(State())
    private let isStopping = Atomic<Bool>(false)

    /// Makes a sink; it connects when it first delivers.
    ///
    /// - Parameters:
    ///   - configuration: the producer's.
    ///   - topic: where records are sent.
    ///   - transactionalID: the name under which the broker knows this sink; a second one of that name ends the first.
    ///   - group: the consumer group whose offset is the last entry of the store; nil where the name itself is of one
    ///     store alone.
    ///   - sentTopic: watches the topic for lost records.
    /// - Throws: `KafkaError` where a property is unknown or refused.
    package init(
        configuration: KafkaConfiguration, topic: String, transactionalID: String, group: String? = nil,
        sentTopic: SentTopic? = nil
    ) throws {
        self.sentTopic = sentTopic
        admin = try Admin(configuration: configuration)
        var configuration = configuration
        configuration["transactional.id"] = transactionalID
        self.configuration = configuration
        self.topic = topic
        self.group = group ?? transactionalID
        // The start checks its properties, as it checks the other clients'.
        try Producer(configuration: configuration).close(timeoutMilliseconds: 0)
    }

    /// The partition that stands for the topic in the group's offsets.
    private var place: TopicPartition { TopicPartition(topic, 0) }

    /// Returns the last entry of the last batch that was committed, or nil before the first.
    ///
    /// An unfinished batch of a sink of the same name is aborted first, so that nothing is left undecided.
    package func finishedEntry() throws -> Int64? {
        try step { state in
            _ = try begun(&state)
            return try admin.committedOffsets(
                group: group, partitions: [place], isStable: true, timeoutMilliseconds: remainingMilliseconds)[place]
        }
    }

    /// Adds records to the open transaction, and opens one where there is none.
    package func deliver(_ records: [ProducerRecord]) throws {
        try step { state in
            let producer = try begun(&state)
            if !state.isOpen {
                try producer.beginTransaction()
                state.isOpen = true
            }
            for record in records {
                try producer.enqueue(
                    record, makingRoom: { try producer.flush(timeoutMilliseconds: remainingMilliseconds) })
            }
        }
    }

    /// Commits the transaction together with the number of the entry.
    package func finish(through entry: Int64) throws {
        try step { state in
            guard state.isOpen else { return }
            let producer = try begun(&state)
            try producer.sendOffsets(
                [place: entry], group: group, timeoutMilliseconds: remainingMilliseconds)
            try producer.commitTransaction(timeoutMilliseconds: remainingMilliseconds)
            state.isOpen = false
        }
    }

    /// Shortens the steps that are still to come to two seconds.
    package func prepareToStop() { isStopping.store(true, ordering: .releasing) }

    /// Leaves an open transaction to be aborted.
    package func close() { state.withLock { Self.drop(&$0) } }

    private var remainingMilliseconds: Int {
        isStopping.load(ordering: .acquiring) ? 2000 : Self.timeoutMilliseconds
    }

    /// Returns the producer, made ready: whatever another of its name left open is aborted by then.
    private func begun(_ state: inout State) throws -> Producer {
        if let producer = state.producer { return producer }
        let producer = try Producer(configuration: configuration, onDelivery: sentTopic?.onDelivery)
        do {
            try producer.initTransactions(timeoutMilliseconds: remainingMilliseconds)
        } catch {
            let reason: any Error = (error as? KafkaError).map { producer.explain($0) } ?? error
            try? producer.close(timeoutMilliseconds: 0)
            throw reason
        }
        state.producer = producer
        return producer
    }

    /// After any failure the producer is given up: only a new one can tell what became of the transaction.
    private func step<Result: Sendable>(_ body: (inout State) throws -> Result) throws -> Result {
        try state.withLock { state in
            do {
                return try body(&state)
            } catch {
                let reason: any Error = (error as? KafkaError).flatMap { state.producer?.explain($0) } ?? error
                Self.drop(&state)
                throw reason
            }
        }
    }

    private static func drop(_ state: inout State) {
        if state.isOpen { try? state.producer?.abortTransaction(timeoutMilliseconds: 2000) }
        try? state.producer?.close(timeoutMilliseconds: 0)
        state = State()
    }
}
