/// The primary key of an object with the position of its entity.
package struct ObjectKey: KeyHashable {
    /// The position of the entity's root.
    package let entity: Int
    package let pk: Int64

    package init(entity: Int, pk: Int64) {
        self.entity = entity
        self.pk = pk
    }

    package init(_ object: ContextObject) {
        self.init(entity: object.entity.rootIndex, pk: object.pk)
    }

    package var keyHash: KeyHash { KeyHash(pk, Int64(entity)) }
}
