import GraphCore
import RecordDecoding

/// A column whose values come again, like an object's identity in a stream of the object's versions.
package struct RepeatedIdentity: Sendable, Equatable {
    /// The column.
    var column: String
    /// The column that tells the versions apart, or nil.
    var version: String?
    /// The distinct values of the column.
    var distinctCount: Int
    /// The records that were compared.
    var recordCount: Int
    /// Whether records of one value differ in their other values.
    var hasChanges: Bool
    /// Whether the names and the values leave little doubt.
    var isSure: Bool

    /// The count of the values for comments.
    var share: String { "\(counted(distinctCount, "value")) in \(counted(recordCount, "record"))" }
}

/// Finds the column that identifies objects whose versions are the records, and the one that orders the versions.
///
/// It looks at the records in their order, in a second pass. The memory is bounded by the limit of distinct values.
package struct VersionFinder {
    /// How the text of a version is compared.
    private enum Order {
        case instant, whole
        case count(TimeUnit)
        case form(DatePattern)

        func number(_ text: String) -> Int64? {
            var text = text
            return switch self {
            case .instant: Timestamp.microseconds(text, assumesUTC: true)
            case .whole: Int64(text)
            case .count(let unit): text.withUTF8 { unit.microseconds(utf8: $0) }
            case .form(let pattern): pattern.microseconds(text)
            }
        }
    }

    private struct Candidate {
        let name: String
        let order: Order
        var rises = 0
        var falls = 0
        /// The records that changed without it.
        var stays = 0

        var isChange: Bool { TimeName.isChange(name) }
        /// Whether it orders the versions that were seen; by its name even where some came late.
        var isOrder: Bool { isChange ? rises + falls > 0 : rises > 0 && falls == 0 && stays <= rises }
    }

    private struct Known {
        var content: UInt64
        var versions: [Int64?]
        var others: [UInt64]
    }

    private static let candidateLimit = 8
    /// The most versions that an object has on average.
    private static let versionLimit = 10

    private let column: String?
    /// Whether the column's name, or the records' keys, say that it identifies.
    private let isNamed: Bool
    /// Whether each record's key is the column's value.
    private let isKey: Bool
    private let distinctLimit: Int
    private var candidates: [Candidate] = []
    /// Further columns: an object keeps the values of some of them.
    private let others: [String]
    /// How often each of them kept its value in a record that changed.
    private var kept: [Int]
    private var known: [UInt64: Known] = [:]
    private var recordCount = 0
    private var changes = 0

    /// The columns that are compared, the identity first; none where no column comes into question.
    package var names: [String] { column.map { [$0] + candidates.map(\.name) + others } ?? [] }

    /// Chooses the columns of a profile.
    package init(_ profile: EntityProfile, distinctLimit: Int) {
        self.distinctLimit = distinctLimit
        let entity = InferredModel.Entity(name: profile.name, profile: profile)
        let key: String? = if case .column(let name, _)? = profile.keys.identity(profile) { name } else { nil }
        let repeated = profile.columns
            .filter { profile.isComplete($0) && $0.distinct.hasRepeats && $0.maximumLength <= 200 }
            .filter { [.string, .integer64, .uuid].contains(ColumnGuess($0).type) }.map(\.name)
        let own = repeated.first { entity.isOwnIdentity($0) }
        // Of several names of keys, no single one identifies.
        let named = repeated.filter { CompositeFinder.isNamed($0) }
        let column = repeated.first { $0 == key } ?? own ?? (named.count == 1 ? named[0] : nil)
        let isOpen = profile.field == nil && entity.bestIdentity(from: 3) == nil
        self.column = isOpen ? column : nil
        isKey = column != nil && column == key
        isNamed = isKey || column != nil && column == own
        candidates = Array(
            profile.columns.lazy.filter { $0.name != column && profile.isComplete($0) && TimeName.isTime($0.name) }
                .compactMap { column in Self.order(column).map { Candidate(name: column.name, order: $0) } }
                .prefix(Self.candidateLimit))
        let taken = Set(candidates.map(\.name) + [column].compactMap { $0 })
        others = Array(profile.columns.lazy.map(\.name).filter { !taken.contains($0) }.prefix(Self.candidateLimit))
        kept = others.map { _ in 0 }
    }

    private static func order(_ column: ColumnProfile) -> Order? {
        let guess = ColumnGuess(column)
        if column.shapes.isSubset(of: [.date, .localDate]), !column.shapes.isEmpty { return .instant }
        if guess.type == .integer64 { return .whole }
        guard guess.type == .date, let form = guess.form else { return nil }
        if let unit = RouteConfiguration.ValueForm(rawValue: form)?.unit { return .count(unit) }
        return (try? DatePattern(form, zone: nil)).map { .form($0) }
    }

    /// Notes a record's values of ``names``, and a hash of the record.
    package mutating func add(_ values: [String], content: UInt64) {
        guard let identity = values.first else { return }
        recordCount += 1
        let versions = zip(candidates, values.dropFirst()).map { $0.order.number($1) }
        let hashes = values.dropFirst(1 + candidates.count).map(\.utf8.fnv1a)
        let hash = identity.utf8.fnv1a
        guard let former = known[hash] else {
            if known.count < distinctLimit { known[hash] = Known(content: content, versions: versions, others: hashes) }
            return
        }
        known[hash] = Known(content: content, versions: versions, others: hashes)
        if former.content == content { return }
        changes += 1
        for (index, pair) in zip(hashes, former.others).enumerated() where pair.0 == pair.1 { kept[index] += 1 }
        for (index, pair) in zip(versions, former.versions).enumerated() {
            guard let now = pair.0, let before = pair.1 else { continue }
            if now > before { candidates[index].rises += 1 }
            if now < before { candidates[index].falls += 1 }
            if now == before { candidates[index].stays += 1 }
        }
    }

    /// Whether records of one value look like one object: a column of several keeps its value as a rule.
    private var isSameObject: Bool { changes == 0 || kept.count < 2 || kept.contains { $0 * 2 >= changes } }

    /// The column and its version; nil where nothing suggests versions.
    package var result: RepeatedIdentity? {
        guard let column, recordCount > known.count else { return nil }
        // Equal records say nothing about versions: there the name alone does.
        let orders = candidates.filter { changes == 0 ? $0.isChange : $0.isOrder }
        let version = orders.min { ($0.isChange ? 0 : 1, $0.falls) < ($1.isChange ? 0 : 1, $1.falls) }
        if !isNamed, version == nil || changes == 0 { return nil }
        // Many records of one value, each with a time, are likelier readings than versions.
        let isSeries = recordCount > Self.versionLimit * known.count
        let isOrdered = version.map { $0.isChange || !isSeries } ?? (changes == 0)
        return RepeatedIdentity(
            column: column, version: version?.name, distinctCount: known.count, recordCount: recordCount,
            hasChanges: changes > 0, isSure: isKey || isNamed && isOrdered && isSameObject)
    }
}
