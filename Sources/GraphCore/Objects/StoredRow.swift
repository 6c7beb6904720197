/// A row of an entity's table as the writer reads it.
package struct StoredRow {
    package let pk: Int64
    /// The row's own entity, which may be below the one that was looked up.
    package let entity: Entity
    package let isPlaceholder: Bool
    /// One value a slot.
    package let values: [Value]

    package init(pk: Int64, entity: Entity, isPlaceholder: Bool, values: [Value]) {
        self.pk = pk
        self.entity = entity
        self.isPlaceholder = isPlaceholder
        self.values = values
    }
}

/// A row as a reader hands it over: its values stand in the reader's ``ValueArena``.
package struct PackedRow {
    package let pk: Int64
    /// The row's own entity, which may be below the one that was looked up.
    package let entity: Entity
    package let isPlaceholder: Bool
    package let values: SlotValues

    package init(pk: Int64, entity: Entity, isPlaceholder: Bool, values: SlotValues) {
        (self.pk, self.entity, self.isPlaceholder, self.values) = (pk, entity, isPlaceholder, values)
    }

    package init(_ row: StoredRow, in arena: ValueArena) {
        self.init(pk: row.pk, entity: row.entity, isPlaceholder: row.isPlaceholder, values: arena.slots(row.values))
    }

    /// The row with memory of its own.
    package var stored: StoredRow {
        StoredRow(pk: pk, entity: entity, isPlaceholder: isPlaceholder, values: values.array)
    }
}

/// The remains of a deleted object.
package struct Tombstone {
    /// The version of the deletion, or null.
    package var version: Value
    /// When the deletion happened, in microseconds since 1970 UTC, or nil.
    package var time: Int64?

    package init(version: Value, time: Int64? = nil) {
        self.version = version
        self.time = time
    }

    /// The tombstone of a deletion after which the identity had a tombstone already: the later version and the later time.
    ///
    /// A deletion that lacks one of them, or states an older one, takes nothing back. So an event that was too late stays
    /// too late.
    func following(_ former: Tombstone?) -> Tombstone {
        guard let former else { return self }
        var following = self
        if version.isNull || version.isOlder(than: former.version) == true { following.version = former.version }
        if let buried = former.time { following.time = max(buried, time ?? buried) }
        return following
    }
}
