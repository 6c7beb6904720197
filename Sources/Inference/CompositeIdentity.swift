import GraphCore

/// Two or three columns whose values identify a record together.
package struct CompositeIdentity: Sendable, Equatable {
    /// The columns' names.
    package var columns: [String]
    /// The text between the values.
    package var separator: String
    /// Whether all names speak of keys.
    var isNamed = false
    /// Whether all records were compared.
    package var isCertain: Bool

    /// The template of a route.
    var template: String { columns.map { "{\(InferredText.path($0))}" }.joined(separator: separator) }
}

/// Finds the columns that identify a record together, in a second pass over the records.
///
/// The memory is bounded: of each combination it remembers no more than the limit of distinct values, and a combination
/// that comes twice is forgotten.
package struct CompositeFinder {
    private struct Combination {
        let columns: [Int]
        var distinct: BoundedSet
    }

    private static let separators = ["-", "/", "|", ":", "~"]
    private static let candidateLimit = 8
    /// The fewest records that let values alone suggest a combination.
    private static let recordsForValues = 20
    private static let keyWords = ["id", "key", "code", "number", "num", "uuid"]
    /// Words that end like a key word and do not name a key.
    private static let otherWords = ["paid", "valid", "void", "grid", "solid", "fluid", "bid", "monkey", "turkey"]
    /// The least share of all pairs of values that are records, where no name speaks of keys. By chance columns are unique
    /// together, too.
    private static let leastShare = 0.5

    /// The columns that are compared, the likeliest first.
    package let names: [String]
    private let named: Set<String>
    private var combinations: [Combination] = []
    private var unusable: Set<String> = []

    /// Chooses the columns of a profile; there are none where a column identifies alone.
    package init(_ profile: EntityProfile, distinctLimit: Int) {
        let usable = profile.columns.enumerated().filter { _, column in
            profile.isComplete(column) && InferredNames.isField(column.name) && column.maximumLength <= 60
                && column.distinct.hasRepeats
                && (column.distinct.hashes.count > 1 || column.distinct.isBeyondLimit)
                && [.string, .integer64, .uuid, .date].contains(ColumnGuess(column).type)
        }
        let named = Set(usable.map(\.element.name).filter { Self.isNamed($0) && !TimeName.isChange($0) })
        let counts = Dictionary(usable.map { ($1.name, Double($1.distinct.hashes.count)) }) { first, _ in first }
        let ranked = usable.sorted { left, right in
            let (leftNamed, rightNamed) = (named.contains(left.element.name), named.contains(right.element.name))
            return leftNamed == rightNamed ? left.offset < right.offset : leftNamed
        }
        let entity = InferredModel.Entity(name: profile.name, profile: profile)
        let isKeyed = profile.keys.identity(profile) != nil
        let isAlone = entity.bestIdentity(from: isKeyed ? 3 : 1) != nil
        let names = isAlone || profile.recordCount < 2 ? [] : ranked.prefix(Self.candidateLimit).map(\.element.name)
        (self.named, self.names) = (named, names)
        // Few records, or three columns, are unique by chance: there the names have to speak of keys.
        let hasManyRecords = profile.recordCount >= Self.recordsForValues && !isKeyed
        combinations = Self.subsets(of: names.indices).filter { columns in
            if columns.allSatisfy({ named.contains(names[$0]) }) { return true }
            let pairs = columns.reduce(1) { $0 * (counts[names[$1]] ?? 0) }
            return hasManyRecords && columns.count == 2 && Double(profile.recordCount) >= pairs * Self.leastShare
        }.map { Combination(columns: $0, distinct: BoundedSet(limit: distinctLimit)) }
    }

    /// All pairs and triples.
    private static func subsets(of numbers: Range<Int>) -> [[Int]] {
        numbers.flatMap { first in
            numbers.dropFirst(first + 1).flatMap { second in
                [[first, second]] + numbers.dropFirst(second + 1).map { [first, second, $0] }
            }
        }
    }

    /// Tells whether a name speaks of a key.
    static func isNamed(_ name: String) -> Bool {
        isKey(name) || TimeName.isPosition(name)
    }

    /// Tells whether a name ends as names of identities do.
    static func isKey(_ name: String) -> Bool {
        let folded = InferredNames.folded(name)
        if otherWords.contains(where: folded.hasSuffix) { return false }
        return keyWords.contains { folded.hasSuffix($0) }
    }

    /// Whether there is a combination that no two records share.
    package var isOpen: Bool { !combinations.isEmpty }

    /// Notes a record's values of ``names``.
    package mutating func add(_ values: [String]) {
        for value in values {
            for separator in Self.separators where value.contains(separator) { unusable.insert(separator) }
        }
        let hashes = values.map(\.utf8.fnv1a)
        for index in combinations.indices {
            combinations[index].distinct.insert(
                combinations[index].columns.reduce(0) { ($0 ^ hashes[$1]) &* 0x9E37_79B9_7F4A_7C15 })
        }
        combinations.removeAll(where: \.distinct.hasRepeats)
    }

    /// The smallest combination that no two records share, of these the likeliest; nil where there is none.
    package var result: CompositeIdentity? {
        guard let separator = Self.separators.first(where: { !unusable.contains($0) }),
            let found = combinations.min(by: { rank($0.columns) < rank($1.columns) })
        else { return nil }
        return CompositeIdentity(
            columns: found.columns.map { names[$0] }, separator: separator,
            isNamed: found.columns.allSatisfy { named.contains(names[$0]) }, isCertain: !found.distinct.isBeyondLimit)
    }

    private func rank(_ columns: [Int]) -> (Int, Int, Int, Int) {
        // A detail's place stays unique where later records repeat the rest.
        let hasPosition = columns.contains { TimeName.isPosition(names[$0]) }
        let unnamed = columns.count { !named.contains(names[$0]) }
        return (columns.count, unnamed, hasPosition ? 0 : 1, columns.reduce(0, +))
    }
}
