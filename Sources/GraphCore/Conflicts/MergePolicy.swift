/// Decides which side wins where a context and the store have both changed an object, or where two objects claim one
/// unique value.
///
/// Source: NSMergePolicy.h; the outcomes of uniqueness conflicts and what the sources leave open are stated in
/// `docs/explanation/semantics.md`.
public enum MergePolicy: Sendable {
    /// The save fails with the list of conflicts, and the context keeps its changes.
    case error
    /// The store's value stays where both sides changed a property; what only the context changed is saved.
    case storeTrump
    /// The context's value is saved where both sides changed a property; what only the store changed stays.
    case objectTrump
    /// The whole object is saved as the context has it, which reverts what others changed.
    case overwrite
    /// The context's changes of the object are dropped.
    case rollback
    /// The side with the later value of an attribute wins the properties that both changed; a date or number such as
    /// `updatedAt`. Without a name, it is the entity's version attribute.
    case lastWriterWins(attribute: String? = nil)
    /// A program decides, conflict by conflict. Its errors fail the save.
    case custom(@Sendable (MergeConflict) throws -> MergeResolution)

    /// Returns the policy that a model file names, or nil.
    public init?(named name: String) {
        switch name {
        case "error": self = .error
        case "storeTrump": self = .storeTrump
        case "objectTrump": self = .objectTrump
        case "overwrite": self = .overwrite
        case "rollback": self = .rollback
        case "lastWriterWins": self = .lastWriterWins()
        default: return nil
        }
    }

    /// The name as a model file and the store's notes of conflicts spell it.
    public var name: String {
        switch self {
        case .error: "error"
        case .storeTrump: "storeTrump"
        case .objectTrump: "objectTrump"
        case .overwrite: "overwrite"
        case .rollback: "rollback"
        case .lastWriterWins: "lastWriterWins"
        case .custom: "custom"
        }
    }
}

/// A program's decision about a conflict.
public enum MergeResolution: Sendable {
    /// As one of the other policies would have it.
    case policy(MergePolicy)
    /// These values are saved, the store's stay for all other properties. A to-one relationship is set by the
    /// identity of its destination.
    case values([String: Value])
}

/// An object that a context and the store have both changed, or two objects that claim one unique value.
public struct MergeConflict: Sendable, CustomStringConvertible {
    /// The conflict.
    public enum Kind: String, Sendable {
        /// Both sides changed the object.
        case changed
        /// The context changed an object that another writer deleted.
        case deletedInStore
        /// The context deletes an object that another writer changed.
        case deletedInContext
        /// The context's object claims a value that has to be unique and that another object has.
        case uniqueness
    }

    /// One property on both sides. A to-one relationship is shown by the identity of its destination.
    public struct Property: Sendable {
        /// The property's name.
        public let name: String
        /// The value that the context read; of a uniqueness conflict, null.
        public let snapshot: Value
        /// The value that the context has now.
        public let local: Value
        /// The value that the store has now; null where the object is deleted there.
        public let stored: Value
        /// Tells whether the context changed the property.
        public let isChangedInContext: Bool
        /// Tells whether another writer changed the property.
        public let isChangedInStore: Bool

        package init(
            name: String, snapshot: Value, local: Value, stored: Value, isChangedInContext: Bool, isChangedInStore: Bool
        ) {
            self.name = name
            self.snapshot = snapshot
            self.local = local
            self.stored = stored
            self.isChangedInContext = isChangedInContext
            self.isChangedInStore = isChangedInStore
        }
    }

    /// The conflict.
    public let kind: Kind
    /// The context's object.
    public let objectID: ManagedObjectID
    /// The identity of the context's object in stored form.
    public let identity: Value
    /// The properties that changed on either side.
    public let properties: [Property]
    /// The names of the properties that together have to be unique; empty for other kinds.
    public let constraint: [String]

    package init(
        kind: Kind, objectID: ManagedObjectID, identity: Value, properties: [Property], constraint: [String]
    ) {
        self.kind = kind
        self.objectID = objectID
        self.identity = identity
        self.properties = properties
        self.constraint = constraint
    }

    /// The name of the object's entity.
    public var entity: String { objectID.entity }

    /// The conflict, without any value.
    public var description: String {
        switch kind {
        case .changed:
            "\(entity): \(names(\.isChangedInContext)) changed here, \(names(\.isChangedInStore)) changed in the store"
        case .deletedInStore: "\(entity): changed here, deleted in the store"
        case .deletedInContext: "\(entity): deleted here, \(names(\.isChangedInStore)) changed in the store"
        case .uniqueness: "\(entity): another object has the same \(constraint.joined(separator: ", "))"
        }
    }

    private func names(_ isIncluded: (Property) -> Bool) -> String {
        properties.filter(isIncluded).map(\.name).joined(separator: ", ")
    }
}
