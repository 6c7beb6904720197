/// Says which partitions of each topic a worker reads: a list, or a share of all.
public enum PartitionSelection: Sendable, Hashable, CustomStringConvertible {
    /// The partitions of these ranges, in order and apart from each other.
    case list([ClosedRange<Int32>])
    /// Every partition whose number, divided by `count`, leaves `index`.
    case share(index: Int32, count: Int32)

    /// Every partition there is.
    public static let all = PartitionSelection.share(index: 0, count: 1)

    /// The form of a valid text, for messages.
    static let expected = "a list of partitions as in \"0-3,7\", or a share as in \"1/4\""

    /// The most partitions that a list may name, so that a slip of the pen does not fill memory.
    private static let mostPartitions = 100_000

    /// Reads `0-3,7` or `1/4`; nil where the text is neither.
    public init?(_ text: String) {
        let text = text.filter { $0 != " " }
        if let slash = text.firstIndex(of: "/") {
            guard let index = Self.number(text[..<slash]), let count = Self.number(text[text.index(after: slash)...]),
                index < count
            else { return nil }
            self = .share(index: index, count: count)
            return
        }
        var ranges: [ClosedRange<Int32>] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let range = Self.range(part) else { return nil }
            ranges.append(range)
        }
        let joined = Self.joined(ranges)
        guard joined.reduce(0, { $0 + $1.count }) <= Self.mostPartitions else { return nil }
        self = .list(joined)
    }

    private static func range(_ text: Substring) -> ClosedRange<Int32>? {
        guard let dash = text.firstIndex(of: "-") else { return number(text).map { $0...$0 } }
        guard let first = number(text[..<dash]), let last = number(text[text.index(after: dash)...]), first <= last
        else { return nil }
        return first...last
    }

    private static func number(_ text: Substring) -> Int32? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int32(text),
            number < Int32.max
        else { return nil }
        return number
    }

    /// Sorts ranges, and joins ranges that overlap or touch.
    private static func joined(_ ranges: [ClosedRange<Int32>]) -> [ClosedRange<Int32>] {
        var result: [ClosedRange<Int32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.last, range.lowerBound <= last.upperBound + 1 {
                result[result.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }

    /// Tells whether the worker reads a partition.
    public func contains(_ partition: Int32) -> Bool {
        switch self {
        case .list(let ranges): ranges.contains { $0.contains(partition) }
        case .share(let index, let count): partition % count == index
        }
    }

    /// The partitions that a list names; nil for a share, which follows the partitions that there are.
    package var named: [Int32]? {
        guard case .list(let ranges) = self else { return nil }
        return ranges.flatMap { $0 }
    }

    /// The text that reads as this selection: `0-3,7` or `1/4`.
    public var description: String {
        switch self {
        case .list(let ranges): Self.text(ranges, separator: ",")
        case .share(let index, let count): "\(index)/\(count)"
        }
    }

    /// The selection as a part of a file's name: `0-3_7` or `1of4`.
    public var fileName: String {
        switch self {
        case .list(let ranges): Self.text(ranges, separator: "_")
        case .share(let index, let count): "\(index)of\(count)"
        }
    }

    private static func text(_ ranges: [ClosedRange<Int32>], separator: String) -> String {
        ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: separator)
    }
}

extension ConfigurationKey {
    static let partitions = Self(
        "kafka.partitions", \.kafka.partitions,
        "The partitions of each topic that this worker reads, for several workers with a store each. It is a list such "
            + "as \"0-3,7\", or a share. \"1/4\" is every partition whose number leaves 1 when divided by 4. The worker "
            + "then joins no group; group.id serves for the offsets that it commits. null: the group gives it "
            + "partitions. Not given to librdkafka.",
        expected: PartitionSelection.expected + ", or null", schema: .anything, show: { $0?.description ?? "null" }
    ) { node, problems in
        if node.isNull, node.text?.isEmpty != true { return .some(nil) }
        if let text = node.partitionText, let selection = PartitionSelection(text) { return selection }
        problems.add(
            .invalidValue, at: node.origin,
            "kafka.partitions is \(node.shown(name: "kafka.partitions")), which is not "
                + PartitionSelection.expected,
            remedy: "Numbers begin with 0; of a share \"INDEX/COUNT\" the index is below the count.")
        return nil
    }
}

extension ConfigurationNode {
    /// A text, or the texts of a list with commas between.
    fileprivate var partitionText: String? {
        guard case .sequence(let sequence) = node else { return text }
        let parts = sequence.map { child($0).text }
        return parts.contains(nil) ? nil : parts.compactMap { $0 }.joined(separator: ",")
    }
}
