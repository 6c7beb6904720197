/// Names an object of a store: its entity and its primary key, which is temporary until the object is saved.
///
/// Two ids of one object are equal, even if they name different entities of its hierarchy. A later event may give the
/// object a more special one.
/// Ids may be passed between threads and contexts; objects may not.
public struct ManagedObjectID: Sendable, Hashable, CustomStringConvertible {
    /// Temporary keys grow from here and stay negative.
    package static let firstTemporaryKey: Int64 = -(1 << 40)

    package let kind: Entity
    /// The primary key in the entity's table; negative while the object is not saved.
    public let pk: Int64

    /// The name of the object's entity.
    public var entity: String { kind.name }
    /// The position of the entity in the model.
    package var entityIndex: Int { kind.index }
    /// Tells whether the object has not been saved yet.
    public var isTemporary: Bool { pk < 0 }

    /// The entity and the key.
    public var description: String { isTemporary ? "\(entity)/new\(-pk)" : "\(entity)/\(pk)" }

    package init(_ entity: Entity, _ pk: Int64) {
        kind = entity
        self.pk = pk
    }

    /// Tells whether two ids name one object.
    public static func == (left: ManagedObjectID, right: ManagedObjectID) -> Bool {
        left.pk == right.pk && left.kind.rootIndex == right.kind.rootIndex
            && left.kind.tableName == right.kind.tableName
    }

    /// Hashes the id's parts that name the object.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(pk)
        hasher.combine(kind.rootIndex)
    }
}
