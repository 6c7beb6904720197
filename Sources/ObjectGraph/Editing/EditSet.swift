/// The primary key of an object with the position of its entity.
struct ObjectKey: Hashable {
    /// The position of the entity's root.
    let entity: Int
    let pk: Int64

    init(entity: Int, pk: Int64) {
        self.entity = entity
        self.pk = pk
    }

    init(_ object: ContextObject) {
        self.init(entity: object.entity.rootIndex, pk: object.pk)
    }

    /// Hashes both numbers at once: saves look many objects up.
    func hash(into hasher: inout Hasher) {
        hasher.combine(pk &* 1024 &+ Int64(entity))
    }
}

/// What an editing context wants saved: its own objects, as they were read and as they are now.
struct EditSet {
    struct Edit {
        let object: ContextObject
        let policy: MergePolicy
        /// The slots to write; of a new object, those that were set.
        let slots: [Int]
    }

    var inserted: [Edit] = []
    var updated: [Edit] = []
    var deleted: [Edit] = []
    /// The links of join tables that were made or undone, by the context's keys.
    var links: [Link] = []
    /// The ordered relationships whose destinations changed or moved.
    var orders: [Order] = []
    /// The relationships whose limits on counts have to be looked at.
    var countChecks: [(object: ObjectKey, relationship: Relationship)] = []
    /// The registry that the context's keys mean something in.
    let registry: ObjectRegistry

    /// What becomes of the order of one object's destinations.
    struct Order {
        let owner: ObjectKey
        let relationship: Relationship
        /// The destinations by the context's keys: all of them, or those that were added behind the others.
        let destinations: [Int64]
        let isWhole: Bool
    }

    struct Link {
        let table: Int
        let pair: Pair
        let isLinked: Bool
    }
}

/// What became of an edit set.
struct EditOutcome {
    /// The keys of the objects that stand for the context's own: new keys of inserted ones, others where rows merged.
    var keys: [ObjectKey: ObjectKey] = [:]
    /// The rows as they are after the save, of the objects that it touched.
    var rows: [ObjectKey: StoredRow] = [:]
    var result: SaveResult
}

/// What a save changed.
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
