import GraphCore

/// The errors of properties of typed objects, whose accessors cannot throw.
///
/// A refused setting is a change that a save would lack, so its error stays until the program settles it. It settles it
/// with a valid value, or by dropping the object's changes. A save throws the error of a refused reading once.
struct Refusals {
    enum Access {
        case read, set
    }

    private struct Refusal {
        let error: any Error
        let access: Access
        let property: String
        // The reference keeps the object alive, so that no other object can get its identity.
        let object: ManagedObject
    }

    private var list: [Refusal] = []

    mutating func note(_ error: any Error, _ access: Access, _ property: String, of object: ManagedObject) {
        // A second error replaces the first.
        if access == .set { settle(property, of: object) }
        list.append(Refusal(error: error, access: access, property: property, object: object))
    }

    /// Drops the error of setting a property of an object.
    mutating func settle(_ property: String, of object: ManagedObject) {
        if list.isEmpty { return }
        list.removeAll { $0.access == .set && $0.property == property && $0.object === object }
    }

    /// Drops the errors of an object.
    mutating func settle(_ object: ManagedObject) {
        if list.isEmpty { return }
        list.removeAll { $0.object === object }
    }

    /// Returns the first error, or nil, and drops all.
    mutating func takeAll() -> (any Error)? {
        defer { list = [] }
        return list.first?.error
    }

    /// Returns the first error, or nil, and drops the errors of reads.
    mutating func take() -> (any Error)? {
        let first = list.first?.error
        list.removeAll { $0.access == .read }
        return first
    }
}
