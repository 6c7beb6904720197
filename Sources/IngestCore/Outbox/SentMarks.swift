/// Decides whether the broker lost records that an outbox had delivered: the end of a partition moves forwards only.
///
/// It takes deliveries and the ends of partitions. The store keeps the marks as a text, with the cursor of the outbox.
/// So a restart notices a loss that deliveries have shown, and goes on with the entries that are sent again.
struct SentMarks: Equatable {
    /// The offset behind the last record that was delivered, by partition.
    private var next: [Int32: Int64] = [:]
    /// The offset at which a partition went on that had lost its end, by partition.
    private var resumed: [Int32: Int64] = [:]
    /// The offsets of records that came to a partition between a loss and the time when it was noticed, in their order.
    /// The records before them are sent again behind them; until the first of these is delivered the last range has no end.
    private var underWay: [Int32: [Range<Int64>]] = [:]
    /// The entries that are sent again after a loss; nil while none are.
    private(set) var again: Again?

    /// Entries that are sent again.
    struct Again: Equatable {
        /// The last entry that the topic has, those sent again among them.
        var reached: Int64
        /// The last entry that is to be sent again.
        var through: Int64
    }

    /// The number of ranges that are kept of a partition. Of more losses, the first two count as one: a further loss among
    /// them sends more again than it has to.
    private static let rangeLimit = 8

    /// Notes the delivery of a record. A negative offset says that the broker did not tell one.
    mutating func delivered(_ partition: Int32, at offset: Int64) {
        if offset < 0 { return }
        let mark = next[partition] ?? 0
        if let range = underWay[partition]?.last, range.upperBound == .max {
            let ended = offset > range.lowerBound ? [range.lowerBound..<offset] : []
            let ranges = underWay[partition, default: []].dropLast() + ended
            underWay[partition] = ranges.isEmpty ? nil : ranges
        }
        if offset < mark { resumed[partition] = min(resumed[partition] ?? offset, offset) }
        next[partition] = max(mark, offset + 1)
    }

    /// The offset behind the last record that was delivered to a partition.
    func mark(_ partition: Int32) -> Int64 { next[partition] ?? 0 }

    /// Whether deliveries themselves show a loss.
    var showsLoss: Bool { !resumed.isEmpty }

    /// The partitions that records were delivered to.
    var partitions: [Int32] { next.keys.sorted() }

    /// Returns the partitions that lost records, each with the offset behind the last record that it kept.
    ///
    /// - Parameters:
    ///   - partitions: the partitions that the topic has.
    ///   - ends: the ends of partitions; of one that is absent nothing is known.
    func lost(_ partitions: Set<Int32>, ends: [Int32: Int64]) -> [Int32: Int64] {
        var lost = resumed
        for (partition, mark) in next {
            if !partitions.contains(partition) {
                lost[partition] = 0
            } else if let end = ends[partition], end < mark {
                lost[partition] = min(lost[partition] ?? end, end)
            }
        }
        return lost
    }

    /// Accepts a loss: the marks go back to the ends of the partitions, and the entries behind one are sent again.
    mutating func accept(_ lost: [Int32: Int64], sendingAgain entries: Again) {
        again = Again(reached: entries.reached, through: max(entries.through, again?.through ?? entries.through))
        for (partition, end) in lost {
            noteUnderWay(partition, behind: end)
            (next[partition], resumed[partition]) = (end, nil)
        }
    }

    /// Notes that records may have come to a partition behind the end of what it kept.
    private mutating func noteUnderWay(_ partition: Int32, behind end: Int64) {
        var ranges = underWay[partition, default: []].filter { $0.upperBound < end }
        ranges.append(orderedEnd(partition, end)..<Int64.max)
        if ranges.count > Self.rangeLimit { ranges[0...1] = [ranges[0].lowerBound..<ranges[1].upperBound] }
        underWay[partition] = ranges
    }

    /// Notes the outbox's cursor, and tells whether all lost entries have now been sent again.
    mutating func reached(_ cursor: Int64) -> Bool {
        guard let through = again?.through else { return false }
        again = cursor < through ? Again(reached: cursor, through: through) : nil
        return again == nil
    }

    /// Returns the offset before which the last entry has all others before it, where a partition ends at an offset.
    func orderedEnd(_ partition: Int32, _ end: Int64) -> Int64 {
        guard let range = underWay[partition]?.first(where: { end <= $0.upperBound }) else { return end }
        return min(end, range.lowerBound)
    }
}

extension SentMarks: LosslessStringConvertible {
    /// The marks as the store keeps them: the entries that are sent again, then partition and offset of each mark. The ranges
    /// of records that were under way, and the offset of a loss that nobody has looked at, follow the offset.
    var description: String {
        let marks = next.sorted { $0.key < $1.key }.map { partition, offset in
            let ranges = underWay[partition, default: []].map { ":\($0.lowerBound):\($0.upperBound)" }.joined()
            return "\(partition):\(offset)\(ranges)" + (resumed[partition].map { ":\($0)" } ?? "")
        }
        return ((again.map { ["again:\($0.reached):\($0.through)"] } ?? []) + marks).joined(separator: " ")
    }

    init?(_ description: String) {
        for mark in description.split(separator: " ") {
            let parts = mark.split(separator: ":", omittingEmptySubsequences: false)
            let numbers = parts.dropFirst().compactMap { Int64($0) }
            guard numbers.count == parts.count - 1, !numbers.isEmpty else { return nil }
            if parts[0] == "again", numbers.count == 2 {
                again = Again(reached: numbers[0], through: numbers[1])
                continue
            }
            guard let partition = Int32(parts[0]) else { return nil }
            next[partition] = numbers[0]
            for place in stride(from: 1, to: numbers.count - 1, by: 2) {
                guard numbers[place] < numbers[place + 1] else { return nil }
                underWay[partition, default: []].append(numbers[place]..<numbers[place + 1])
            }
            if numbers.count % 2 == 0 { resumed[partition] = numbers[numbers.count - 1] }
        }
    }
}
