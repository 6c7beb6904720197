import GraphCore
import KafkaClient

/// The reasons why a partition is not read for a while; each ends by itself.
struct PauseReasons: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// Too many transactions wait to be notified.
    static let outbox = PauseReasons(rawValue: 1)
    /// Too many dead letters wait for their topic.
    static let deadLetters = PauseReasons(rawValue: 2)
    /// The store refused.
    static let store = PauseReasons(rawValue: 4)
    /// A record cannot be decoded for now, though it is not at fault.
    static let decoding = PauseReasons(rawValue: 8)
    /// The reasons for which the client fetches nothing.
    static let client: PauseReasons = [.outbox, .deadLetters, .decoding]
    /// The reasons for which the worker drops the records that come, and reads them again from the store's positions.
    static let dropping: PauseReasons = [.store, .decoding]
}

/// Why a partition cannot be read, and what an operator can do.
struct ReadFault: Sendable, Equatable {
    let reason: String
    let remedy: String
}

/// Names the condition of a partition. Causes may overlap; the gravest gives the name.
enum PartitionCondition: Sendable, Equatable {
    /// The worker applies the records that come.
    case reading
    /// The worker compares the store's last record with the log's before it applies anything more.
    case verifying
    /// The worker waits for something else, and goes on by itself.
    case paused(PauseReasons)
    /// The broker does not have the position, and has not said yet which offsets it has.
    case outOfRange
    /// The broker does not have the topic or the partition, or does not let it be read for now.
    case missing(ReadFault)
    /// Reading has ended until an operator decides.
    case halted(ReadFault)
}

/// An event of an assigned partition.
enum PartitionEvent: Sendable {
    /// Reading has to wait for these reasons.
    case pauseBegan(PauseReasons)
    /// These reasons are over.
    case pauseEnded(PauseReasons)
    /// The client has stopped fetching the partition, or fetches it again, as the worker asked.
    case clientChanged(isPaused: Bool)
    /// The worker has read the store's position, to go back to it; nil where the store does not know the partition.
    case positionRead(SourcePosition?)
    /// The client went where it was sent.
    case seekDone
    /// The client could not go there; a retriable refusal ends, another may last.
    case seekRefused(isRetriable: Bool)
    /// The store has committed a position: the next offset.
    case saved(Int64)
    /// The worker has committed this offset to the broker.
    case offsetCommitted(Int64)
    /// The client has reached the partition's end: the offset that follows its last one.
    case endReached(Int64)
    /// A connection was lost, or the topic is gone: the next record may come from another log.
    case connectionLost
    /// The broker does not have the offset that the client asked for.
    case offsetOutOfRange
    /// Another record stands where the store's last one was; the reason says where.
    case otherRecordFound(String)
    /// The broker has said which offsets it has.
    case rangeKnown(Watermarks)
    /// The records from this offset on cannot be read.
    case damaged(at: Int64, ReadFault)
    /// The broker does not have the partition, or does not let it be read for now.
    case missing(ReadFault)
    /// The partition is there again.
    case found
    /// Time has passed: seconds of one monotonic clock, and the end that the broker has told since, if it has.
    case clock(Double, end: Int64?)
}

/// An action that the state of a partition asks of the consumer.
enum PartitionAction: Sendable, Equatable {
    /// Tell health and the log.
    case report(PartitionReport)
    /// Let the client fetch nothing more.
    case pause
    /// Let the client fetch again.
    case resume
    /// Save the open chunk, read the store's position and answer with ``PartitionEvent/positionRead(_:)``: reading goes
    /// on from the record that the store took last.
    case compareLastRecord
    /// Log that the partition is stalled, so many offsets behind; then do as for ``compareLastRecord``.
    case refetch(behind: Int64)
    /// Send the client to an offset.
    case seek(Int64)
    /// Ask the broker which offsets it has.
    case askRange
    /// Save the position that an operator's decision leads to, then send the client there.
    case jump(PositionJump, reason: String)
}

/// A report on a partition for health.
enum PartitionReport: Sendable, Equatable {
    /// It is not read: halted or missing.
    case halted(ReadFault)
    /// It is not read until the broker says which offsets it has.
    case waiting
    /// It is read, or is not assigned any more.
    case released
    /// The broker has so many more offsets, and nothing comes.
    case silent(behind: Int64)
    /// Something came again, or nothing is to be expected.
    case heard

    /// The events for health.
    func events(of partition: TopicPartition) -> [HealthEvent] {
        switch self {
        case .halted(let fault): return [.partitionHalted(partition, reason: fault.reason)]
        case .waiting:
            // The release ends a graver report.
            let reason = "its position is not there, and the broker has not said yet what is"
            return [
                .partitionReleased(partition),
                .partitionWaiting(partition, reason: reason),
            ]
        case .released: return [.partitionReleased(partition)]
        case .silent(let behind):
            let reason = "its end on the broker is \(counted(behind, "offset")) further, and nothing comes"
            return [.partitionSilent(partition, reason: reason)]
        case .heard: return [.partitionHeard(partition)]
        }
    }
}
