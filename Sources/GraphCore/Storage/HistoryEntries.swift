/// Changes of one history transaction, in columns of one length.
package struct HistoryEntries {
    /// The number of the first change; the others follow without a gap.
    package let firstChange: Int64
    /// The changed objects' entities.
    package private(set) var entities: [Entity] = []
    /// Their primary keys.
    package private(set) var keys: [Int64] = []
    /// Their identities.
    package private(set) var identities: [Value] = []
    package private(set) var kinds: [ChangeKind] = []
    /// The names of the changed properties, separated by commas; nil but for updates.
    package private(set) var properties: [String?] = []
    /// The preserved values of deleted objects, as JSON text, or nil.
    package private(set) var preservedValues: [String?] = []

    package var count: Int { keys.count }

    init(firstChange: Int64) { self.firstChange = firstChange }

    package mutating func append(
        _ entity: Entity, _ key: Int64, _ identity: Value, _ kind: ChangeKind, properties names: String?,
        preservedValues values: String?
    ) {
        entities.append(entity)
        keys.append(key)
        identities.append(identity)
        kinds.append(kind)
        properties.append(names)
        preservedValues.append(values)
    }

    /// Removes the changes from a number on.
    package mutating func removeAll(from change: Int64) {
        let surplus = count - Int(max(0, change - firstChange))
        if surplus <= 0 { return }
        entities.removeLast(surplus)
        keys.removeLast(surplus)
        identities.removeLast(surplus)
        kinds.removeLast(surplus)
        properties.removeLast(surplus)
        preservedValues.removeLast(surplus)
    }
}

/// The header of a transaction in the history.
package struct HistoryHeader {
    /// The time of the save, in microseconds since 1970 UTC.
    package let time: Int64
    package let author: String
    package let context: String?
    package let source: String?
    /// The trace context of the first event's record: a W3C `traceparent`, or nil.
    package let trace: String?
    /// The number of the transaction's first change.
    package let firstChange: Int64

    package init(
        time: Int64, author: String, context: String?, source: String?, trace: String? = nil, firstChange: Int64
    ) {
        self.time = time
        self.author = author
        self.context = context
        self.source = source
        self.trace = trace
        self.firstChange = firstChange
    }
}
