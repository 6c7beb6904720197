@testable import GraphCore

extension Entity {
    /// The values of a new object with an identity.
    func initialValues(_ identity: Value) -> [Value] {
        var values = initialValues
        values[identitySlot] = identity
        return values
    }
}

extension ContextObject {
    /// Makes a new object that holds the given values.
    convenience init(entity: Entity, pk: Int64, values: [Value]) {
        self.init(entity: entity, pk: pk, identity: .null, in: ValueArena(), isApart: true)
        setValues(values)
    }
}
