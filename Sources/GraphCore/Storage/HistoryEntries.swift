/// A changed object, as the history knows it.
package enum ChangedObject {
    /// An object of the context, which keeps its entity and identity.
    case object(ContextObject)
    /// A row that the context does not hold.
    indirect case row(Entity, key: Int64, identity: Value)

    package var entity: Entity {
        switch self {
        case .object(let object): object.entity
        case .row(let entity, _, _): entity
        }
    }

    package var key: Int64 {
        switch self {
        case .object(let object): object.pk
        case .row(_, let key, _): key
        }
    }

    package var identity: Value {
        switch self {
        case .object(let object): object.identity
        case .row(_, _, let identity): identity
        }
    }
}

/// Changes of one history transaction.
package struct HistoryEntries {
    /// A changed object with what became of it.
    package struct Entry {
        package let object: ChangedObject
        package let kind: ChangeKind
        /// The names of the changed properties, separated by commas, of an update; the preserved values of a deleted object,
        /// as JSON text, or nil.
        private let text: String?

        fileprivate init(_ object: ChangedObject, _ kind: ChangeKind, _ text: String?) {
            (self.object, self.kind, self.text) = (object, kind, text)
        }

        /// The names of the changed properties, separated by commas; nil but for updates.
        package var properties: String? { kind == .update ? text : nil }

        /// The preserved values of a deleted object, as JSON text, or nil.
        package var preservedValues: String? { kind == .delete ? text : nil }
    }

    /// The number of the first change; the others follow without a gap.
    package let firstChange: Int64
    private var entries: [Entry] = []

    package var count: Int { entries.count }

    package var indices: Range<Int> { entries.indices }

    package subscript(index: Int) -> Entry { entries[index] }

    init(firstChange: Int64) { self.firstChange = firstChange }

    package mutating func append(
        _ object: ChangedObject, _ kind: ChangeKind, properties: String?, preservedValues: String?
    ) {
        entries.append(Entry(object, kind, kind == .update ? properties : preservedValues))
    }

    /// Removes the changes from a number on.
    package mutating func removeAll(from change: Int64) {
        let surplus = count - Int(max(0, change - firstChange))
        if surplus > 0 { entries.removeLast(surplus) }
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
