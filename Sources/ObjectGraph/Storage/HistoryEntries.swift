/// Changes of one history transaction, in columns of one length.
struct HistoryEntries {
    /// The number of the first change; the others follow without a gap.
    let firstChange: Int64
    /// The changed objects' entities.
    private(set) var entities: [Entity] = []
    /// Their primary keys.
    private(set) var keys: [Int64] = []
    /// Their identities.
    private(set) var identities: [Value] = []
    private(set) var kinds: [ChangeKind] = []
    /// The names of the changed properties, separated by commas; nil but for updates.
    private(set) var properties: [String?] = []
    /// The preserved values of deleted objects, as JSON text, or nil.
    private(set) var preservedValues: [String?] = []

    var count: Int { keys.count }

    init(firstChange: Int64) { self.firstChange = firstChange }

    mutating func append(
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
    mutating func removeAll(from change: Int64) {
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

/// What the history says of a transaction besides its changes.
struct HistoryHeader {
    /// The time of the save, in microseconds since 1970 UTC.
    let time: Int64
    let author: String
    let context: String?
    let source: String?
    /// The number of the transaction's first change.
    let firstChange: Int64
}
