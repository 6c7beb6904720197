import Synchronization

/// A class whose objects stand for an entity's objects in a program.
package typealias EntityClass = any (AnyObject & SendableMetatype).Type

/// The classes that a program uses for a model's entities, each checked once.
package final class ClassRegistry: Sendable {
    private struct State {
        var checked: Set<ObjectIdentifier> = []
        /// The class of each entity that has one, by the entity's position.
        var types: [Int: EntityClass] = [:]
    }

    private let state = Mutex(State())

    package func isKnown(_ type: EntityClass) -> Bool {
        state.withLock { $0.checked.contains(ObjectIdentifier(type)) }
    }

    package func add(_ types: [(entity: Int, type: EntityClass)]) {
        state.withLock { state in
            for (entity, type) in types where state.checked.insert(ObjectIdentifier(type)).inserted {
                state.types[entity] = type
            }
        }
    }

    /// Returns the class of an entity's objects: its own, or the next one above it.
    package func type(of entity: Entity) -> EntityClass? {
        state.withLock { state -> EntityClass? in
            let known = ([entity.index] + entity.ancestorIndexes).first { state.types[$0] != nil }
            return known.flatMap { state.types[$0] }
        }
    }
}
