import GraphCore
import KafkaClient

/// Decides which of a partition's records are repeats, and whether the log still is the one that the store has read.
///
/// Reading starts before the store's position, at the last record that the store took. Another record stands there in a
/// topic that was deleted and created again, or that lost its end and was written on.
package struct PartitionProgress: Sendable {
    /// Where librdkafka starts at a partition's first record.
    static let beginning: Int64 = -2

    /// The decision on a record.
    package enum Verdict: Sendable, Equatable {
        case apply
        case skip
        /// The store's position means nothing here any more; the reason says why.
        case lost(String)
    }

    /// The decision where the broker does not have the offset that was asked for.
    package enum Resolution: Sendable, Equatable {
        case seek(Int64)
        /// The broker has the position after all, and its log has to be compared.
        case compare
        case lost(String)
    }

    /// The next offset wanted, or nil while nothing is known of the partition.
    private(set) var next: Int64?
    /// The first record of a partition that the store does not know; nil before it has come, and of any other partition.
    private(set) var first: Int64?
    /// The records from here on do not count until an operator decides.
    private var haltOffset: Int64?
    /// The last record that the store took, while no record behind the store's position has come.
    private var last: LastRecord?
    /// Whether the last record that the store took is still to be compared.
    package private(set) var isUnverified: Bool
    /// Why the position means nothing any more, until it is decided where reading goes on.
    private var lostReason: String?

    /// Begins where the store stands; nil where it does not know the partition.
    ///
    /// - Parameter first: the partition's first record, where an earlier reading has come upon it.
    package init(_ position: SourcePosition?, first: Int64? = nil) {
        next = position?.nextOffset
        self.first = position == nil ? first : nil
        last = position.flatMap { LastRecord($0) }
        isUnverified = last != nil
    }

    /// Where to read from.
    package var start: Int64 { (isUnverified ? last?.offset : nil) ?? next ?? Self.beginning }

    /// Notes a record, and decides what to do with it.
    ///
    /// - Parameter fingerprint: the record's; it is asked for only where it is to be compared.
    package mutating func received(offset: Int64, fingerprint: @autoclosure () -> RecordFingerprint) -> Verdict {
        if lostReason != nil { return .skip }
        if let haltOffset, offset >= haltOffset { return .skip }
        if let last {
            // Between its last record and its position the store's log has none.
            let isBetween = offset > last.offset && offset < next ?? 0
            let isOther = isUnverified && offset == last.offset && fingerprint() != last.fingerprint
            isUnverified = false
            if isBetween || isOther {
                let reason = "the record at offset \(offset) is not the one that the store took last"
                // The records fetched behind it are of the other log: none of them counts before that is settled.
                lostReason = reason
                return .lost(reason)
            }
        }
        if let next, offset < next { return .skip }
        if next == nil { first = offset }
        last = nil
        next = offset + 1
        return .apply
    }

    /// Notes that the broker does not have the offset, with the range that it has. Returns the resolution.
    package mutating func outOfRange(low: Int64, high: Int64) -> Resolution {
        if let lostReason { return .lost(lostReason) }
        guard let next else { return .seek(low) }
        if low <= next, next <= high {
            // A broker may come up without its records, and have them again by now.
            if low <= start { return .compare }
            // Only the last record is gone, for age: then nothing is missing.
            isUnverified = false
            return .seek(next)
        }
        return .lost("offset \(next) is not on the broker any more, which has \(low) to \(high)")
    }

    /// Notes the store's position in a partition that showed no record.
    mutating func pass(to offset: Int64) { next = next ?? offset }

    /// Ends reading until an operator decides.
    ///
    /// - Parameter offset: records before it that are at hand already still count; none do by default.
    mutating func halt(before offset: Int64 = 0) {
        haltOffset = min(offset, haltOffset ?? offset)
    }

    /// Goes on at another offset, as an operator decided.
    mutating func jump(to offset: Int64) {
        next = offset
        (last, isUnverified) = (nil, false)
        lostReason = nil
        haltOffset = nil
    }
}

/// The outcome of an operator's decision on a lost position: where it leads, and the log's words for it.
struct PositionJump: Sendable, Equatable {
    /// The offset that the store wanted next, and the offset that is read next.
    let from: Int64
    let to: Int64

    /// Makes the jump to the partition's oldest record or, where that is wanted, behind its newest.
    init(from: Int64, policy: KafkaSettings.OnPositionLost, marks: Watermarks) {
        self.from = from
        to = policy == .latest ? marks.high : marks.low
        isRewind = policy != .latest && to <= from
    }

    /// Whether the records that follow may be known to the store.
    let isRewind: Bool

    /// The log's message for the jump.
    var description: String {
        if isRewind { return "a position was lost, reading is rewound to the oldest record" }
        return to > from
            ? "a position was lost, records are skipped"
            : "a position was lost, what the partition holds is skipped"
    }
}
