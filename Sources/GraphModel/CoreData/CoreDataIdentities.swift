/// Gives the entities of a Core Data model identities: Core Data needs none, events do.
///
/// The entity's user info may name one. Otherwise it is the attribute of the first uniqueness constraint that has one
/// required attribute of a type that identifies. Otherwise the entity gets a hidden attribute, a random uuid.
/// Entities of a hierarchy share their root's.
enum CoreDataIdentities {
    /// Gives identities, and returns what is to be said about it.
    static func give(to model: inout ModelDeclaration) -> String? {
        var hidden: [String] = []
        for index in model.entities.indices where model.entities[index].parent == nil {
            if model.entities[index].identity != nil { continue }
            let entity = model.entities[index]
            if let name = constrained(entity) {
                model.entities[index].identity = Located(content: name.content[0], line: name.line)
                continue
            }
            var attribute = AttributeDeclaration(name: HiddenIdentity.name, line: entity.line)
            attribute.type = .uuid
            model.entities[index].attributes.append(attribute)
            model.entities[index].identity = Located(content: HiddenIdentity.name, line: entity.line)
            hidden.append(entity.name)
        }
        if hidden.isEmpty { return nil }
        return "no constraint identifies \(hidden.joined(separator: ", ")): objects get a random "
            + "'\(HiddenIdentity.name)'; name an attribute under the key 'identity' of the user info to choose one"
    }

    private static func constrained(_ entity: EntityDeclaration) -> Located<[String]>? {
        entity.uniqueness.first { names in
            guard names.content.count == 1 else { return false }
            return entity.attributes.contains {
                $0.name == names.content[0] && $0.type.canIdentify && !$0.isOptional && !$0.isTransient
                    && $0.derived == nil
            }
        }
    }
}
