/// What properties of typed objects have refused, which their accessors cannot throw.
///
/// A refused setting is a change that would be missing from a save, so it is kept until something settles it: a value
/// that the property takes, or that the object's changes are dropped. A save throws a refused reading once.
struct Refusals {
    enum Access {
        case read, set
    }

    private struct Refusal {
        let error: any Error
        let access: Access
        let property: String
        // Held, so that no other object can be taken for it.
        let object: ManagedObject
    }

    private var list: [Refusal] = []

    mutating func note(_ error: any Error, _ access: Access, _ property: String, of object: ManagedObject) {
        // A second refusal replaces the first.
        if access == .set { settle(property, of: object) }
        list.append(Refusal(error: error, access: access, property: property, object: object))
    }

    /// Forgets what setting a property of an object has refused.
    mutating func settle(_ property: String, of object: ManagedObject) {
        if list.isEmpty { return }
        list.removeAll { $0.access == .set && $0.property == property && $0.object === object }
    }

    /// Forgets what an object has refused.
    mutating func settle(_ object: ManagedObject) {
        if list.isEmpty { return }
        list.removeAll { $0.object === object }
    }

    /// Returns the first refusal, or nil, and forgets all.
    mutating func takeAll() -> (any Error)? {
        defer { list = [] }
        return list.first?.error
    }

    /// Returns the first refusal, or nil, and forgets those of readings.
    mutating func take() -> (any Error)? {
        let first = list.first?.error
        list.removeAll { $0.access == .read }
        return first
    }
}
