import GraphCore

/// The objects that an editing context saves, as they were read and as they are now.
package struct EditSet {
    package struct Edit {
        package let object: ContextObject
        private let changedSlots: [Int]

        /// Makes an edit that inserts a new object, deletes one, or changes slots of one that the store has.
        init(_ object: ContextObject, changedSlots: [Int] = []) {
            self.object = object
            self.changedSlots = changedSlots
        }

        /// The slots to write: of a new object the slots that were set, of others the changed slots.
        package var slots: [Int] { object.isNew ? object.entity.editableSlots.filter(object.isGiven) : changedSlots }
    }

    /// The merge policies where others changed the same objects, by the position of the entity.
    package var policies: [Int: MergePolicy] = [:]
    package var inserted: [Edit] = []
    package var updated: [Edit] = []
    package var deleted: [Edit] = []
    /// Why the deleted objects go.
    package var origins = DeletionOrigins()
    /// The links of join tables that were made or undone, by the context's keys.
    package var links: [Link] = []
    /// The ordered relationships whose destinations changed or moved.
    package var orders: [Order] = []
    /// The relationships whose limits on counts have to be looked at.
    var countChecks: [(object: ObjectKey, relationship: Relationship)] = []
    /// The registry that the context's keys mean something in.
    package let registry: ObjectRegistry

    /// The new order of one object's destinations.
    package struct Order {
        package let owner: ObjectKey
        package let relationship: Relationship
        /// The destinations by the context's keys: all of them, or only the ones that were added behind the others.
        package let destinations: [Int64]
        package let isWhole: Bool
    }

    package struct Link {
        package let table: Int
        package let pair: Pair
        let isLinked: Bool
    }

    init(registry: ObjectRegistry) { self.registry = registry }

    package func policy(of edit: Edit) -> MergePolicy { policies[edit.object.entity.index] ?? .error }
}

extension ContextObject {
    /// Tells whether a new object was given a value: one that a program set, or a link that an inverse made.
    package func isGiven(_ slot: Int) -> Bool {
        state.assignedSlots.contains(slot)
            || !state.values[slot].isNull && !entity.attributes.hasAttribute(at: slot)
    }
}

/// The outcome of an edit set.
package struct EditOutcome {
    /// The writer's objects after the save, by the keys of the context's objects. An inserted object has another key now,
    /// and so has an object that was merged into another.
    let targets: [ObjectKey: ContextObject]
    /// The other objects of the store that the save changed, by their keys.
    package var others: [ObjectKey: ContextObject] = [:]
    package var result = SaveResult()

    /// Returns the writer's object for one of the context's objects, or nil where the save did not touch it.
    package func target(of key: ObjectKey) -> ContextObject? {
        guard let target = targets[key], target.isAlive else { return others[key] ?? targets[key] }
        return target
    }
}

/// The changes of a save.
public struct SaveResult: Sendable {
    /// The token of the history transaction, or nil where nothing changed.
    public var token: Int64?
    /// The objects that the save inserted.
    public var inserted: [ManagedObjectID] = []
    /// The objects that the save changed, those included that only derived values or delete rules changed.
    public var updated: [ManagedObjectID] = []
    /// The objects that the save deleted, those included that went by a delete rule.
    public var deleted: [ManagedObjectID] = []
    /// The conflicts that a policy resolved, as the store keeps them for review.
    public var conflicts: [ConflictNote] = []
}
