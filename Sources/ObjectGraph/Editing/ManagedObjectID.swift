/// Names an object of a store: its entity and its primary key, which is temporary until the object is saved.
///
/// Ids may be passed between threads and contexts; objects may not.
public struct ManagedObjectID: Sendable, Hashable, CustomStringConvertible {
    /// The name of the object's entity.
    public let entity: String
    /// The position of the entity in the model.
    let entityIndex: Int
    /// The primary key in the entity's table; negative while the object is not saved.
    public let pk: Int64

    /// Tells whether the object has not been saved yet.
    public var isTemporary: Bool { pk < 0 }

    /// The entity and the key.
    public var description: String { isTemporary ? "\(entity)/new\(-pk)" : "\(entity)/\(pk)" }

    init(_ object: ContextObject) {
        self.init(object.entity, object.pk)
    }

    init(_ entity: Entity, _ pk: Int64) {
        self.entity = entity.name
        entityIndex = entity.index
        self.pk = pk
    }
}
