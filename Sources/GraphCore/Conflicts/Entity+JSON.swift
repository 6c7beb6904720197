extension Entity {
    /// Returns a slot's value as JSON; a to-one relationship's is the identity of its destination.
    package func json(_ value: Value, slot: Int, in model: ObjectModel) -> String {
        var type = AttributeType.string
        if attributes.hasAttribute(at: slot) {
            type = attributes[slot].type
        } else if let relationship = relationship(at: slot) {
            type = model.entities[relationship.destinationIndex].identity.type
        }
        var text = ""
        type.appendJSON(value, to: &text)
        return text
    }

    /// Returns the values of several slots as a JSON object.
    package func json(_ values: [(slot: Int, value: Value)], in model: ObjectModel) -> String {
        let fields = values.sorted { $0.slot < $1.slot }.map { slot, value in
            "\(JSONText.string(slotNames[slot])):\(json(value, slot: slot, in: model))"
        }
        return "{\(fields.joined(separator: ","))}"
    }
}
