import GraphCore

/// The length that identities may have.
///
/// They stand in indexes, in the history and in notifications' keys. An identity that no broker takes would stop the
/// notifications permanently.
package enum IdentityLimit {
    static let maximumBytes = 1024

    /// Checks every identity that an event names, and counts those in lists.
    ///
    /// - Throws: ``DecodeError`` with code `decode.identity`.
    package static func check(_ event: ChangeSet, model: ObjectModel) throws(DecodeError) -> Int {
        var count = 0
        for index in event.operations.indices {
            let entity = event.operations[index].entity
            if isTooLong(event.operations[index].identity) {
                throw failure(event.operations[index].identity, model.entities[entity])
            }
            for place in event.operations[index].relationships.indices {
                let change = event.operations[index].relationships[place].change
                count += listed(in: change)
                guard let identity = tooLong(in: change) else { continue }
                let relationship = event.operations[index].relationships[place].relationship
                let destination = model.entities[entity].relationships[relationship].destinationIndex
                throw failure(identity, model.entities[destination])
            }
        }
        return count
    }

    private static func listed(in change: RelationshipChange) -> Int {
        switch change {
        case .one: 0
        case .replace(let identities): identities.count
        case .edit(let add, let remove): add.count + remove.count
        }
    }

    /// The first identity of a change that is too long, or nil.
    private static func tooLong(in change: RelationshipChange) -> Value? {
        switch change {
        case .one(let identity): isTooLong(identity) ? identity : nil
        case .replace(let identities): identities.first(where: isTooLong)
        case .edit(let add, let remove): add.first(where: isTooLong) ?? remove.first(where: isTooLong)
        }
    }

    private static func isTooLong(_ identity: Value) -> Bool {
        if case .text(let text) = identity { text.utf8.count > maximumBytes } else { false }
    }

    private static func failure(_ identity: Value, _ entity: Entity) -> DecodeError {
        DecodeError(
            code: "decode.identity",
            "The \(entity.identity.name) of a \(entity.name) has \(identity.text?.utf8.count ?? 0) bytes; at most "
                + "\(maximumBytes) are allowed")
    }
}
