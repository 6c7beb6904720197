import GraphCore

/// A way along relationships, such as `messages.sender`.
struct RelationshipPath {
    let steps: [Relationship]

    init(_ text: String, from entity: Entity, in model: ObjectModel) throws(EditingError) {
        var steps: [Relationship] = []
        var current = entity
        for name in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard let relationship = current.relationship(named: String(name)) else {
                throw .unknownProperty(String(name), "relationship", current)
            }
            steps.append(relationship)
            current = model.entities[relationship.destinationIndex]
        }
        self.steps = steps
    }
}
