/// Deletes objects and all that the delete rules reach from them, a page at a time.
///
/// Example: a member leaves that a million messages refer to, and stay. Their keys are found first. Then the messages
/// lose their reference page by page, and the member goes last. In memory are the keys of the objects that go, the keys
/// of the objects that lose a reference, and the rows of a page.
struct PagedDeletion {
    private let session: any WriterSession
    private let tombstone: Tombstone
    private var work: SetWork
    /// The objects that go, the given ones first.
    private var pages: [Page] = []
    /// The keys of objects whose own destinations have not been asked for, by the position of their root.
    private var found: [Int: [Int64]] = [:]
    private var effects: [Effect] = []

    private var model: ObjectModel { session.model }

    /// Objects of one hierarchy that go together.
    private struct Page {
        let root: Int
        let keys: [Int64]
        /// Whether these are given objects.
        let isGiven: Bool
    }

    /// A survivor that loses a deleted object from a to-many relationship of this one. Such a list has no bound.
    private struct Effect {
        let entity: Int32
        let relationship: Int32
        let deleted: Int64
        let survivor: Int64
    }

    init(_ session: any WriterSession, _ work: SetWork, _ tombstone: Tombstone) {
        self.session = session
        self.work = work
        self.tombstone = tombstone
        self.work.leaving = Array(repeating: [], count: session.model.entities.count)
    }

    /// - Throws: ``ValidationFailures`` where a rule refuses; ``StoreError``.
    mutating func delete(_ keys: [Int64], of entity: Entity, into tally: inout ChangeTally) throws {
        try reach(keys, root: entity.rootIndex)
        let save = try PagedSave(session, work)
        try survey(save)
        for page in Pages(effects, length: work.pageLength) {
            try save.page { registry, applier in try clear(page, registry, applier) }
        }
        // Owners go after their members, so that no key path of a member changes before the member goes.
        for page in pages.reversed() {
            try save.page { registry, applier in
                for object in try delete(page, registry, applier) { tally.note(.delete, entity: object.entity.index) }
            }
        }
        try save.finish(into: &tally)
    }

    // MARK: The objects that go

    /// Finds the keys of all objects that go.
    private mutating func reach(_ keys: [Int64], root: Int) throws(StoreError) {
        for keys in Pages(note(keys, root), length: work.pageLength) {
            pages.append(Page(root: root, keys: keys, isGiven: true))
        }
        var next = 0
        while true {
            while next < pages.count {
                try reachFurther(from: pages[next])
                next += 1
            }
            let found = found.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
            self.found = [:]
            if found.isEmpty { return }
            for (root, keys) in found {
                for keys in Pages(keys, length: work.pageLength) {
                    pages.append(Page(root: root, keys: keys, isGiven: false))
                }
            }
        }
    }

    /// Marks the objects of keys as leaving, and returns the keys that were not marked before.
    private mutating func note(_ keys: [Int64], _ root: Int) -> [Int64] {
        keys.filter { work.leaving[root].insert($0).inserted }
    }

    private mutating func reachFurther(from page: Page) throws(StoreError) {
        for (entity, rows) in try rows(of: page) {
            for relationship in entity.relationships where relationship.deleteRule.deletesDestinations {
                let root = model.entities[relationship.destinationIndex].rootIndex
                var keys: [Int64] = []
                try forEachDestination(of: rows, relationship) { keys.append($1) }
                let new = note(keys, root)
                found[root, default: []] += new
            }
        }
    }

    /// The rows of a page by their entities.
    private func rows(of page: Page) throws(StoreError) -> [(entity: Entity, rows: [StoredRow])] {
        var rows: [Int: [StoredRow]] = [:]
        try session.rows(of: page.root, .primaryKeys(page.keys)) { rows[$0.entity.index, default: []].append($0) }
        return rows.sorted { $0.key < $1.key }.map { (model.entities[$0.key], $0.value) }
    }

    /// Calls `each` with the keys of some rows and of their destinations; those in columns may be missing.
    private func forEachDestination(
        of rows: [StoredRow], _ relationship: Relationship, _ each: (_ owner: Int64, _ key: Int64) -> Void
    ) throws(StoreError) {
        let owners = rows.map(\.pk)
        switch relationship.storage {
        case .column(let slot):
            for row in rows {
                if case .integer(let key) = row.values[slot] { each(row.pk, key) }
            }
        case .inverseColumn(let slot):
            let keys = RowKeys.values(owners.map { .integer($0) }, slot: slot)
            try session.rows(of: relationship.destinationIndex, keys) { row in
                if case .integer(let owner) = row.values[slot] { each(owner, row.pk) }
            }
        case .join(let table, let isOwner):
            try session.links(in: table, of: owners, isOwnerSide: isOwner) { pair, _ in
                let ends = pair.ends(isOwner: isOwner)
                each(ends.near, ends.far)
            }
        }
    }

    // MARK: The objects that stay

    /// Finds the effects of the deletion on survivors, and whether a rule refuses it.
    private mutating func survey(_ save: PagedSave) throws {
        var failures = ValidationFailures()
        for page in pages {
            for (entity, rows) in try rows(of: page) {
                for relationship in entity.relationships {
                    if relationship.deleteRule.refusesWhileDestinationsStay {
                        failures.add(try refusals(of: rows, relationship))
                    } else if relationship.isCleared(by: relationship.deleteRule) {
                        try noteEffects(of: rows, entity, relationship, save)
                    }
                }
            }
        }
        try failures.check()
    }

    private func refusals(of rows: [StoredRow], _ relationship: Relationship) throws(StoreError) -> [ValidationFailure]
    {
        let root = model.entities[relationship.destinationIndex].rootIndex
        var refused: [Int64: Int64] = [:]
        try forEachDestination(of: rows, relationship) { owner, key in
            if !work.leaving[root].contains(key) { refused[owner] = key }
        }
        if refused.isEmpty { return [] }
        if case .column = relationship.storage {
            // A reference that leads nowhere refuses nothing.
            var present: Set<Int64> = []
            try session.rows(of: root, .primaryKeys(Set(refused.values).sorted())) { present.insert($0.pk) }
            refused = refused.filter { present.contains($0.value) }
        }
        return rows.filter { refused[$0.pk] != nil }.map { row in
            ValidationFailure.deniedDelete(relationship, of: row.entity)
                .about(row.values[row.entity.identitySlot], ManagedObjectID(row.entity, row.pk))
        }
    }

    private mutating func noteEffects(
        of rows: [StoredRow], _ entity: Entity, _ relationship: Relationship, _ save: PagedSave
    ) throws(StoreError) {
        let root = model.entities[relationship.destinationIndex].rootIndex
        if !relationship.isToMany {
            // One that is to-one on both ends is cleared with its page.
            guard let inverse = model.inverse(of: relationship), inverse.isToMany, inverse.minimumCount > 0 else {
                return
            }
            try forEachDestination(of: rows, relationship) { _, key in
                if !work.leaving[root].contains(key) { save.noteCount(of: inverse, key) }
            }
            return
        }
        var found: [Effect] = []
        try forEachDestination(of: rows, relationship) { owner, key in
            if work.leaving[root].contains(key) { return }
            found.append(
                Effect(
                    entity: Int32(entity.index), relationship: Int32(relationship.index), deleted: owner, survivor: key)
            )
        }
        effects += found
    }

    /// Lets survivors forget deleted objects.
    private func clear(_ effects: [Effect], _ registry: ObjectRegistry, _ applier: EventApplier) throws {
        var keys = [Set<Int64>](repeating: [], count: model.entities.count)
        var pairs = [Set<Pair>](repeating: [], count: model.joinTables.count)
        for effect in effects {
            let relationship = relationship(of: effect)
            keys[model.entities[Int(effect.entity)].rootIndex].insert(effect.deleted)
            keys[model.entities[relationship.destinationIndex].rootIndex].insert(effect.survivor)
            guard case .join(let table, let isOwner) = relationship.storage else { continue }
            let pair = Pair(owner: effect.deleted, destination: effect.survivor)
            let back = Pair(owner: effect.survivor, destination: effect.deleted)
            pairs[table].insert(isOwner ? pair : back)
            if model.joinTables[table].isOwnInverse { pairs[table].insert(isOwner ? back : pair) }
        }
        for (root, keys) in keys.enumerated() { try registry.load(entity: root, primaryKeys: keys.sorted()) }
        for (table, pairs) in pairs.enumerated() { try registry.loadPairStates(pairs, table: table) }
        for effect in effects {
            let relationship = relationship(of: effect)
            guard let deleted = registry.known(Int(effect.entity), pk: effect.deleted),
                let survivor = registry.known(relationship.destinationIndex, pk: effect.survivor)
            else { continue }
            try applier.unlink(deleted, relationship, survivor)
        }
    }

    private func relationship(of effect: Effect) -> Relationship {
        model.entities[Int(effect.entity)].relationships[Int(effect.relationship)]
    }

    // MARK: The deletion

    private func delete(_ page: Page, _ registry: ObjectRegistry, _ applier: EventApplier) throws -> [ContextObject] {
        try registry.load(entity: page.root, primaryKeys: page.keys)
        let objects = page.keys.compactMap { registry.known(page.root, pk: $0) }
        let plan = DeletePropagation.Plan(deleted: objects, nullified: try partners(of: objects, registry))
        try applier.carryOut(
            plan, rootCount: page.isGiven ? objects.count : 0, at: tombstone.time, version: tombstone.version)
        return objects
    }

    /// Returns the survivors that refer to deleted objects in relationships which are to-one on both ends.
    private func partners(
        of objects: [ContextObject], _ registry: ObjectRegistry
    ) throws(StoreError) -> [DeletePropagation.Nullification] {
        var found: [(object: ContextObject, relationship: Relationship, key: Int64)] = []
        for object in objects {
            for relationship in object.entity.relationships where relationship.isCleared(by: relationship.deleteRule) {
                guard let slot = relationship.slot, let inverse = model.inverse(of: relationship), !inverse.isToMany,
                    case .integer(let key) = object.state.values[slot]
                else { continue }
                found.append((object, relationship, key))
            }
        }
        for (entity, found) in Dictionary(grouping: found, by: { $0.relationship.destinationIndex }) {
            try registry.load(entity: entity, primaryKeys: Set(found.map(\.key)).sorted())
        }
        return found.compactMap { object, relationship, key in
            guard let partner = registry.known(relationship.destinationIndex, pk: key), !work.isLeaving(partner) else {
                return nil
            }
            return DeletePropagation.Nullification(deleted: object, relationship: relationship, destination: partner)
        }
    }
}
