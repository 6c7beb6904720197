import GraphCore
import RecordDecoding

/// Describes the keys of a topic's records beside their values.
package struct KeyProfile: Sendable {
    /// The identity that the keys state.
    enum Identity: Equatable {
        /// A column that holds the key. A record without a value names it by the expression, where the key is not the
        /// plain text of the identity.
        case column(String, String?)
        /// An expression of a route.
        case expression(String)
    }

    /// The records that have a key.
    private(set) var count = 0
    /// The distinct keys that came with a value.
    private(set) var distinct: BoundedSet

    /// The columns that held the key, or its one field, in each record so far; nil before the first.
    private var columns: Set<String>?
    /// The fields of keys that are objects, in their order; empty for other keys, nil where they differ.
    private var fields: [String]?
    /// Whether keys are texts of JSON, in quotes.
    private var areQuoted = false

    init(distinctLimit: Int) { distinct = BoundedSet(limit: distinctLimit) }

    /// Adds a key, as bytes and, where it is JSON, as JSON, with the value beside it.
    mutating func add(_ bytes: UnsafeRawBufferPointer, _ json: JSONValue?, beside value: JSONValue?) {
        count += 1
        let payload = json.map { SchemaFields.unwrapped($0).payload }
        let members = payload.map { $0.kind == .object ? Array($0.members) : [] } ?? []
        let names = members.map { JSONValue.text($0.key) }
        if count == 1 { fields = names } else if fields != names { fields = nil }
        areQuoted = payload?.kind == .string
        guard let value else { return }
        distinct.insert(bytes.fnv1a)
        let key = members.count == 1 ? members[0].value : payload
        let text = key.flatMap(FileSurvey.text) ?? String(validating: bytes, as: UTF8.self)
        let equal = value.members.filter { FileSurvey.text($0.value) == text }.map { JSONValue.text($0.key) }
        columns = text == nil ? [] : columns?.intersection(equal) ?? Set(equal)
    }

    /// Returns the identity that the keys state: a column with the same value, the likeliest first, else the key.
    ///
    /// It is nil where a record has no key, or keys are objects of other fields.
    func identity(_ profile: EntityProfile) -> Identity? {
        guard count == profile.recordCount + profile.deletions, let fields else { return nil }
        let equal = profile.columns.filter { column in
            columns?.contains(column.name) == true
                && [.string, .integer64, .uuid].contains(ColumnGuess(column).type)
        }.map(\.name)
        let named = equal.filter { CompositeFinder.isNamed($0) }
        let parts = fields.map { "$key.\(InferredText.path($0))" }
        let expression =
            parts.isEmpty ? "$key" : parts.count == 1 ? parts[0] : parts.map { "{\($0)}" }.joined(separator: "-")
        guard let column = named.first ?? equal.first else { return .expression(expression) }
        return .column(column, parts.isEmpty && !areQuoted ? nil : expression)
    }
}
