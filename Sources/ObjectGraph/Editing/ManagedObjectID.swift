/// Names an object of a store: its entity and its primary key, which is temporary until the object is saved.
///
/// Two ids of one object are equal, though they name different entities of its hierarchy: events may find out later
/// that it is of a more special one.
/// Ids may be passed between threads and contexts; objects may not.
public struct ManagedObjectID: Sendable, Hashable, CustomStringConvertible {
    /// The name of the object's entity.
    public let entity: String
    /// The position of the entity in the model.
    let entityIndex: Int
    /// The position of the entity at the top of the hierarchy.
    private let rootIndex: Int
    private let table: String
    /// The primary key in the entity's table; negative while the object is not saved.
    public let pk: Int64

    /// Tells whether the object has not been saved yet.
    public var isTemporary: Bool { pk < 0 }

    /// The entity and the key.
    public var description: String { isTemporary ? "\(entity)/new\(-pk)" : "\(entity)/\(pk)" }

    /// The key under which a registry holds the object.
    var key: ObjectKey { ObjectKey(entity: rootIndex, pk: pk) }

    init(_ object: ContextObject) {
        self.init(object.entity, object.pk)
    }

    init(_ entity: Entity, _ pk: Int64) {
        self.entity = entity.name
        entityIndex = entity.index
        rootIndex = entity.rootIndex
        table = entity.tableName
        self.pk = pk
    }

    /// Tells whether two ids name one object.
    public static func == (left: ManagedObjectID, right: ManagedObjectID) -> Bool {
        left.pk == right.pk && left.rootIndex == right.rootIndex && left.table == right.table
    }

    /// Hashes what names the object.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(pk)
        hasher.combine(rootIndex)
    }
}
