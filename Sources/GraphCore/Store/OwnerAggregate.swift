/// A sum or an average of an owner's destinations, computed again from the rows, beside the value that the store has.
package struct OwnerAggregate {
    package let pk: Int64
    package let identity: Value
    package let stored: Value
    private var running: RunningAggregate

    /// - Parameter beginning: the aggregate of no destinations.
    package init(pk: Int64, identity: Value, stored: Value, beginning: RunningAggregate) {
        self.pk = pk
        self.identity = identity
        self.stored = stored
        running = beginning
    }

    package mutating func add(_ value: Value) { running.add(value) }

    /// The value that the rows give.
    package var expected: Value { running.value }

    /// Tells whether the stored value agrees with the rows, as a value of `type`.
    package func agrees(_ type: AttributeType) -> Bool {
        // Binary fractions depend on the order in which they are added up.
        if case .double(let stored) = stored, case .double(let expected) = expected {
            return abs(stored - expected) <= (type == .float ? 1e-5 : 1e-9) * max(1, abs(expected))
        }
        return stored == expected
    }
}
