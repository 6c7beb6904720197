/// A row of an entity's table as the writer reads it.
struct StoredRow {
    let pk: Int64
    /// The row's own entity, which may be below the one that was looked up.
    let entity: Entity
    let isPlaceholder: Bool
    /// One value a slot.
    let values: [Value]
}

/// What is known of a deleted object.
struct Tombstone {
    /// The version of the deletion, or null.
    var version: Value
    /// When the deletion happened, in microseconds since 1970 UTC, or nil.
    var time: Int64?
}
