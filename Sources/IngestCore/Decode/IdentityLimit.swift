import ObjectGraph

/// The length that identities may have.
///
/// They stand in indexes, in the history and in notifications' keys. An identity that no broker takes would stop the
/// notifications permanently.
enum IdentityLimit {
    static let maximumBytes = 1024

    /// Checks every identity that an event names.
    ///
    /// - Throws: ``DecodeError`` with code `decode.identity`.
    static func check(_ event: ChangeSet, model: ObjectModel) throws(DecodeError) {
        for index in event.operations.indices {
            let entity = model.entities[event.operations[index].entity]
            try check(event.operations[index].identity, entity)
            for change in event.operations[index].relationships {
                let destination = model.entities[entity.relationships[change.relationship].destinationIndex]
                switch change.change {
                case .one(let identity): try check(identity, destination)
                case .replace(let identities): for identity in identities { try check(identity, destination) }
                case .edit(let add, let remove):
                    for identity in add { try check(identity, destination) }
                    for identity in remove { try check(identity, destination) }
                }
            }
        }
    }

    private static func check(_ identity: Value, _ entity: Entity) throws(DecodeError) {
        guard case .text(let text) = identity, text.utf8.count > maximumBytes else { return }
        throw DecodeError(
            code: "decode.identity",
            "The \(entity.identity.name) of a \(entity.name) has \(text.utf8.count) bytes; at most \(maximumBytes) are "
                + "allowed")
    }
}
