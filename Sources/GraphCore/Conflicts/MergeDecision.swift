/// Decides which values are written where a context and the store have both changed an object. Values in, values out.
package struct MergeDecision {
    /// Which side a value is taken from.
    package enum Winner: String {
        case context, store
        /// A program said which values.
        case custom
    }

    /// The policy's decision about a conflict.
    package enum Outcome {
        /// The save fails.
        case refused
        /// These slots are written; the notes say who won which slot.
        case written([Int: Value], notes: [(slot: Int, winner: Winner)])
        /// A program has to be asked.
        case asked(@Sendable (MergeConflict) throws -> MergeResolution)
    }

    package let entity: Entity
    /// The value that the context read.
    package let snapshot: [Value]
    /// The value of the context.
    package let local: [Value]
    /// The value of the store.
    package let stored: [Value]
    /// The slots that the context means to change.
    package let changedHere: [Int]
    /// The slots that another writer changed.
    package let changedThere: [Int]

    package init(entity: Entity, snapshot: [Value], local: [Value], stored: [Value], changedHere: [Int]) {
        self.entity = entity
        self.snapshot = snapshot
        self.local = local
        self.stored = stored
        self.changedHere = changedHere
        changedThere = entity.editableSlots.filter { snapshot[$0] != stored[$0] }
    }

    /// Tells whether both sides changed the object.
    package var isConflict: Bool { !changedHere.isEmpty && !changedThere.isEmpty }

    /// The slots that both sides changed, to different values.
    package var disputed: [Int] {
        let there = Set(changedThere)
        return changedHere.filter { there.contains($0) && local[$0] != stored[$0] }
    }

    package func outcome(_ policy: MergePolicy) throws(EditingError) -> Outcome {
        switch policy {
        case .error: return .refused
        case .storeTrump:
            let lost = Set(disputed)
            return .written(
                values(changedHere.filter { !lost.contains($0) }), notes: disputed.map { ($0, .store) })
        case .objectTrump:
            return .written(values(changedHere), notes: disputed.map { ($0, .context) })
        case .overwrite:
            let reverted = changedThere.filter { local[$0] != stored[$0] }
            return .written(values(entity.editableSlots), notes: reverted.map { ($0, .context) })
        case .rollback:
            return .written([:], notes: changedHere.map { ($0, .store) })
        case .lastWriterWins(let attribute):
            let slot = try Self.decidingSlot(attribute, entity)
            let isLater = Self.isLater(local[slot], than: stored[slot], entity.attributes[slot].type)
            return try outcome(isLater ? .objectTrump : .storeTrump)
        case .custom(let closure): return .asked(closure)
        }
    }

    private func values(_ slots: [Int]) -> [Int: Value] {
        Dictionary(uniqueKeysWithValues: slots.map { ($0, local[$0]) })
    }

    // MARK: The last writer

    /// Returns the slot of the attribute that decides who wrote last.
    package static func decidingSlot(_ name: String?, _ entity: Entity) throws(EditingError) -> Int {
        guard let name else {
            if let slot = entity.versionSlot { return slot }
            throw EditingError(
                .unknownProperty,
                "\(entity.name) has no version attribute, so 'lastWriterWins' has to name the attribute that decides")
        }
        guard let attribute = entity.attribute(named: name) else {
            throw .unknownProperty(name, "attribute", entity)
        }
        return attribute.slot
    }

    /// Tells whether the context's value is the later one; where no order is known, the store's wins.
    package static func isLater(_ local: Value, than stored: Value, _ type: AttributeType) -> Bool {
        if local.isNull { return false }
        return stored.isNull || Attribute.comesBefore(stored, local, type)
    }
}
