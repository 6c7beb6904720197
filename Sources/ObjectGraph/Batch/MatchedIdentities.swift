import GraphCore

/// The identities that rows of a batch insertion get by their values of the matching attribute.
struct MatchedIdentities {
    /// The identities by the value that their objects have: in the store, or after rows.
    private var identities: [Value: Value]
    private var values: [Value: Value]
    /// The values that rows gave away, or took where they may be stale. Whose they are shows once those rows are applied.
    private var undecided: Set<Value> = []
    private let rowsMayBeStale: Bool

    /// - Parameter stored: the identities in the store by value.
    init(_ stored: [Value: Value], rowsMayBeStale: Bool) {
        identities = stored
        values = Dictionary(stored.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
        self.rowsMayBeStale = rowsMayBeStale
    }

    /// Returns the identity of the object that has a row's value, or the one that the row gives. The result is nil where
    /// the rows before have to be applied first.
    mutating func identity(of value: Value, given: Value) -> Value? {
        if undecided.contains(value) { return nil }
        let known = value.isNull ? nil : identities[value]
        let identity = known ?? given
        if known == nil, rowsMayBeStale, !value.isNull { undecided.insert(value) }
        if let former = values[identity], former != value { undecided.insert(former) }
        identities[value] = identity
        values[identity] = value
        return identity
    }
}
