import GraphCore
import KafkaClient

/// Says which records of a topic are read into a store.
package struct TopicReplayRequest: Sendable, Equatable {
    /// Where reading begins.
    package enum Start: Sendable, Equatable {
        /// With the oldest record that the broker has.
        case earliest
        /// With this offset of each partition.
        case offset(Int64)
        /// With the first record of this time or later, in microseconds since 1970 UTC, by the records' timestamps.
        case time(Int64)
        /// Where the store is, partition by partition; with the oldest record where it knows nothing of one.
        case stored
    }

    /// The topic's name.
    package var topic: String
    /// Where reading begins.
    package var start: Start
    /// The offset that reading ends before, or nil for the end that the topic has when reading begins.
    package var end: Int64?

    /// Asks for a topic from its beginning to its present end.
    package init(topic: String, start: Start = .earliest, end: Int64? = nil) {
        self.topic = topic
        self.start = start
        self.end = end
    }

    /// The mark by which a later run recognises the request; the store keeps it. Nil where the positions themselves say
    /// where to go on.
    var mark: String? {
        switch start {
        case .stored: nil
        case .earliest: "earliest"
        case .offset(let offset): "offset \(offset)"
        case .time(let time): "time \(time)"
        }
    }

    /// The name under which the store keeps that a replay of the topic began. The store has a row for each partition:
    /// `nextOffset` is the requested start, `detail` is the mark.
    var markTopic: String { Self.markPrefix + topic }

    /// The beginning of such a mark's name.
    package static let markPrefix = "replay:"
}

/// The reason why a topic cannot be replayed.
package struct TopicReplayError: CodedError {
    /// The kind of error; the raw value is stable.
    package enum Code: String, Sendable {
        /// The configuration does not name the topic, so nothing says how its records are read.
        case unconfigured = "replay.unconfigured"
        /// The broker has no such topic or partition.
        case missing = "replay.missing"
        /// The store holds records beyond the asked start that this replay has not read, or would not get those before it.
        case positioned = "replay.positioned"
        /// The broker does not have the records any more.
        case gone = "replay.gone"
        /// The broker has records that cannot be read.
        case unreadable = "replay.unreadable"
    }

    /// The kind of error.
    package let code: Code
    /// The fault, with the topic and partition.
    package let message: String
    /// The remedy.
    package let remedy: String

    init(_ code: Code, _ message: String, remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    /// Makes the error of a topic of which nothing says how its records are read.
    package static func unconfigured(_ topic: String) -> TopicReplayError {
        TopicReplayError(
            .unconfigured,
            "The topic \(topic) is not in 'topics', which says how its records are read",
            remedy: "Add it there, with its format and routes")
    }
}

/// The offsets to read of one partition.
struct PartitionSpan: Sendable, Equatable {
    let partition: TopicPartition
    /// The start that was asked for, which is where an earlier run began.
    let asked: Int64
    /// Where this run begins.
    let start: Int64
    /// The offset that it ends before.
    let end: Int64

    /// Whether the record before the start is the store's last, and still there to be compared.
    let looksBack: Bool

    /// The number of offsets between, which may be more than there are records.
    var count: Int64 { max(0, end - start) }

    /// Decides which offsets to read, from the request, the broker's ranges and the store's positions.
    ///
    /// - Parameters:
    ///   - asked: the offset that the request's start means in this partition; nil is the oldest record.
    ///   - known: the next offset in the store, or nil where the store does not know the partition.
    ///   - last: the offset of the store's last record; nil is the one right before `known`.
    ///   - isResumption: whether the store holds the mark of this request.
    init(
        _ partition: TopicPartition, asked: Int64?, end: Int64?, broker: Watermarks, known: Int64?, last: Int64? = nil,
        isResumption: Bool
    ) throws(TopicReplayError) {
        self.partition = partition
        self.asked = asked ?? broker.low
        self.end = min(end ?? broker.high, broker.high)
        let goesOn =
            "Name \(WorkerConfiguration.anotherStore), or go on from where the store is with --from-offset stored"
        if let known, !isResumption, known > self.asked {
            throw TopicReplayError(
                .positioned,
                "The store has \(partition) up to offset \(known) already, beyond the asked start \(self.asked), and not "
                    + "from a replay that began there",
                remedy: goesOn)
        }
        // A partition that ends before the start has nothing yet that is asked for.
        let first = min(self.asked, max(broker.high, known ?? 0))
        if let known, !isResumption, known < first {
            throw TopicReplayError(
                .positioned,
                "The store has \(partition) up to offset \(known), and would never get what stands before the asked start "
                    + "\(self.asked)",
                remedy: goesOn)
        }
        start = isResumption ? known ?? first : first
        looksBack = known == start && (last ?? start - 1) >= broker.low
        if start < broker.low, start < self.end {
            throw TopicReplayError(
                .gone,
                "Offset \(start) of \(partition) is gone: the broker has \(broker.low) to \(broker.high)",
                remedy: "Begin with --from-offset \(broker.low), into \(WorkerConfiguration.anotherStore)")
        }
    }
}
