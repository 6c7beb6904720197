/// The events of a chunk as the writer applies them, in memory that is freed as one.
///
/// An operation of a program is several arrays and texts, each with memory of its own. A chunk has thousands of them,
/// and each of its steps would fetch them one by one, and count the references to them.
package final class PackedEvents {
    private let arena = ValueArena()
    private let model: ObjectModel
    package private(set) var events: [PackedEvent] = []

    package init(_ model: ObjectModel) { self.model = model }

    package convenience init(_ events: [ChangeSet], _ model: ObjectModel) {
        self.init(model)
        self.events.reserveCapacity(events.count)
        for event in events { append(event) }
    }

    package var count: Int { events.count }

    /// How many objects the events name.
    var identityCount: Int {
        var count = 0
        for event in events {
            for operation in event.operations {
                count += 1
                for link in operation.links { link.change.forEachIdentity { _ in count += 1 } }
            }
        }
        return count
    }

    /// Forgets all events; their memory serves the next ones.
    package func removeAll() {
        events.removeAll(keepingCapacity: true)
        arena.reset()
    }

    package func append(_ event: ChangeSet) {
        let operations: UnsafeMutableBufferPointer<PackedOperation> = arena.list(event.operations.count)
        event.operations.withUnsafeBufferPointer { source in
            for index in operations.indices { operations[index] = packed(source[index]) }
        }
        events.append(
            PackedEvent(operations: UnsafeBufferPointer(operations), ends: arena.list(event.eventEnds) { $0 }))
    }

    private func packed(_ operation: borrowing ObjectOperation) -> PackedOperation {
        let entity = model.entities[operation.entity]
        return PackedOperation(
            kind: operation.kind, entity: operation.entity, identity: arena.pack(operation.identity),
            version: arena.pack(operation.version), time: operation.time,
            attributes: arena.list(operation.attributes) { attribute in
                PackedOperation.Attribute(
                    slot: attribute.slot, value: arena.pack(attribute.value),
                    isWithinLimits: entity.limitsBySlot[attribute.slot]?.clears(attribute.value) ?? true)
            },
            links: arena.list(operation.relationships) { link in
                PackedOperation.Link(
                    relationship: link.relationship, change: packed(link.change), deletesLost: link.deletesLost)
            },
            transients: arena.list(operation.transients) { attribute in
                PackedOperation.Attribute(
                    slot: attribute.slot, value: arena.pack(attribute.value), isWithinLimits: false)
            })
    }

    private func packed(_ change: RelationshipChange) -> PackedOperation.Change {
        switch change {
        case .one(let identity): .one(arena.pack(identity))
        case .replace(let identities): .replace(packed(identities))
        case .edit(let add, let remove): .edit(add: packed(add), remove: packed(remove))
        }
    }

    private func packed(_ identities: [Value]) -> UnsafeBufferPointer<PackedValue> {
        arena.list(identities) { arena.pack($0) }
    }
}

/// An event of a ``PackedEvents``, which has to live as long: a ``ChangeSet``.
package struct PackedEvent: BitwiseCopyable {
    package let operations: UnsafeBufferPointer<PackedOperation>
    /// Where the record holds several events, the number of operations up to the end of each.
    let ends: UnsafeBufferPointer<Int>

    /// The operation that empties an entity, where that is what the event asks.
    var truncation: PackedOperation? {
        operations.count == 1 && operations[0].kind == .truncate ? operations[0] : nil
    }
}

/// An operation of a ``PackedEvent``: an ``ObjectOperation``.
package struct PackedOperation: BitwiseCopyable {
    package let kind: ObjectOperation.Kind
    package let entity: Int
    let identity: PackedValue
    let version: PackedValue
    let time: Int64?
    let attributes: UnsafeBufferPointer<Attribute>
    let links: UnsafeBufferPointer<Link>
    let transients: UnsafeBufferPointer<Attribute>

    struct Attribute: BitwiseCopyable {
        let slot: Int
        let value: PackedValue
        /// Whether the value breaks no limit of the operation's entity for sure.
        let isWithinLimits: Bool
    }

    struct Link: BitwiseCopyable {
        let relationship: Int
        let change: Change
        let deletesLost: Bool
    }

    /// An event's change of a relationship: a ``RelationshipChange``.
    enum Change: BitwiseCopyable {
        case one(PackedValue)
        case replace(UnsafeBufferPointer<PackedValue>)
        case edit(add: UnsafeBufferPointer<PackedValue>, remove: UnsafeBufferPointer<PackedValue>)

        /// Calls `body` with each identity that the change names.
        @inline(__always)
        func forEachIdentity(_ body: (PackedValue) -> Void) {
            switch self {
            case .one(let identity): if !identity.isNull { body(identity) }
            case .replace(let identities): for identity in identities { body(identity) }
            case .edit(let add, let remove):
                for identity in add { body(identity) }
                for identity in remove { body(identity) }
            }
        }

        var value: RelationshipChange {
            switch self {
            case .one(let identity): .one(identity.value)
            case .replace(let identities): .replace(identities.map(\.value))
            case .edit(let add, let remove): .edit(add: add.map(\.value), remove: remove.map(\.value))
            }
        }
    }

    /// The operation with memory of its own.
    var value: ObjectOperation {
        var operation = ObjectOperation(kind, entity: entity, identity: identity.value)
        (operation.version, operation.time) = (version.value, time)
        operation.attributes = attributes.map { .init(slot: $0.slot, value: $0.value.value) }
        operation.transients = transients.map { .init(slot: $0.slot, value: $0.value.value) }
        operation.relationships = links.map {
            var link = ObjectOperation.RelationshipValue(relationship: $0.relationship, change: $0.change.value)
            link.deletesLost = $0.deletesLost
            return link
        }
        return operation
    }
}

/// A pointer to an operation, which is too large to be copied from step to step.
typealias OperationPointer = UnsafePointer<PackedOperation>
