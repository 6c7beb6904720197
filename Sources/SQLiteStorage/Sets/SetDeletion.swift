import StoreSQL

/// Deletes objects inside the store, by sets of rows, where a deletion reaches more than memory should hold.
///
/// The rules are the same as in ``DeletePropagation``. Temporary tables hold the keys to delete: `to_delete_N` has the
/// keys of entity N, each with the round of the cascade that reached it.
struct SetDeletion {
    let store: SQLiteWriterSession
    let history: HistoryWriter
    let plan: DerivedPlan
    let validators: Validators
    private let failures = Failures()

    /// The rules that the deletion breaks, gathered over all its steps.
    private final class Failures {
        var list = ValidationFailures()
    }

    init(store: SQLiteWriterSession, _ work: SetWork) {
        self.store = store
        history = work.history
        plan = work.plan
        validators = work.validators
    }

    var model: ObjectModel { store.model }

    /// Deletes one object and all objects that its delete rules reach.
    ///
    /// - Throws: ``ValidationFailures`` where rules refuse, after which the caller rolls back; ``StoreError``.
    func delete(
        entity: Entity, pk: Int64, tombstone: Tombstone, into tally: inout ChangeTally
    ) throws {
        try delete(tombstone: tombstone, root: (entity.index, pk), into: &tally) { deletion throws(StoreError) in
            try store.runOnce("INSERT INTO temp.\(deletion.tableToDelete(entity.index)) (pk, round) VALUES (?, 0)") {
                $0.bind(1, pk)
            }
        }
    }

    /// Puts the keys of an entity's selected objects into the table of ``tableToDelete(_:)``, and returns how many there are.
    func seed(_ selection: BatchSelection, of entity: Entity) throws(StoreError) -> Int {
        try store.runOnce(
            """
            INSERT INTO temp.\(tableToDelete(entity.index)) (pk, round) \
            SELECT \(selection.alias).pk, 0 FROM \(selection.source) WHERE \(selection.condition)
            """
        ) { selection.bind(to: $0) }
        return Int(store.changedRowCount)
    }

    /// Deletes objects and all objects that their delete rules reach.
    ///
    /// Example: a chat with a million messages is deleted, and its members count the messages they sent. Only the messages'
    /// references lead to these members, so the deletion marks them before it clears references. It counts again when the
    /// messages are gone. It checks the rule Deny when the whole cascade is known, because a destination that is deleted
    /// too does not refuse. It deletes rows after all checks. If a rule refuses, the caller rolls back the references
    /// that were cleared on the way.
    ///
    /// - Parameters:
    ///   - root: the object whose tombstone gets the version of the deletion, or nil.
    ///   - seed: names the objects, with ``seed(_:of:)``.
    /// - Throws: ``ValidationFailures`` where rules refuse, after which the caller rolls back; ``StoreError``.
    func delete(
        tombstone: Tombstone, root: (entity: Int, pk: Int64)?, into tally: inout ChangeTally,
        seed: (SetDeletion) throws(StoreError) -> Void
    ) throws {
        try prepare()
        try seed(self)
        let reach = try close()
        try deny()
        try callValidators()
        let propagation = DerivedPropagation(store: store, plan: plan, time: history.time)
        try markReaders(propagation, reach)
        try clearReferences(propagation, into: &tally)
        try checkColumnMinimums()
        try noteLostLinks(propagation, into: &tally)
        try failures.list.check()
        try clearStoredReferences()
        try writeDeletions(root: root, tombstone, into: &tally)
        try propagation.run()
        try propagation.writeHistory(history, into: &tally)
        try drop()
    }

    /// The table of the keys to delete. Entities of one hierarchy share it, as they share the table of their rows.
    func tableToDelete(_ entity: Int) -> String { "to_delete_\(model.entities[entity].rootIndex)" }

    func table(_ entity: Int) -> String { SQLText.quoted(model.entities[entity].tableName) }

    /// All relationships, each with the entity that declares it.
    private var relationships: [(entity: Entity, relationship: Relationship)] {
        model.entities.flatMap { entity in entity.ownRelationships.map { (entity, $0) } }
    }

    /// The entities that the objects of an entity may have, each with the condition on its rows.
    func kinds(_ entity: Entity) -> [(entity: Entity, condition: String)] {
        if !entity.sharesTable { return [(entity, "")] }
        return model.kin(of: entity.index).map { model.entities[$0] }.map {
            ($0, " AND _entity = \(SQLText.literal($0.name))")
        }
    }

    private func prepare() throws(StoreError) {
        try drop()
        for entity in model.rootEntities {
            try store.runOnce(
                "CREATE TEMP TABLE \(tableToDelete(entity.index)) (pk INTEGER PRIMARY KEY, round INTEGER NOT NULL)")
            // A deep cascade has many rounds, and each reads the keys of one round. Where nothing cascades, none are read.
            if !cascades(entity) { continue }
            try store.runOnce(
                "CREATE INDEX temp.\(tableToDelete(entity.index))_round ON \(tableToDelete(entity.index)) (round)")
        }
    }

    /// Tells whether a deletion goes on from the objects in an entity's table.
    private func cascades(_ entity: Entity) -> Bool {
        model.entities.contains { other in
            other.rootIndex == entity.rootIndex && other.relationships.contains { $0.deleteRule.deletesDestinations }
        }
    }

    private func drop() throws(StoreError) {
        for entity in model.rootEntities {
            try store.runOnce("DROP TABLE IF EXISTS temp.\(tableToDelete(entity.index))")
        }
    }

    // MARK: The deleted set

    /// Follows the rule 'cascade', a round at a time, until a round reaches nothing new.
    private func close() throws(StoreError) -> CascadeReach {
        var reach = CascadeReach()
        for entity in model.rootEntities where try exists("SELECT 1 FROM temp.\(tableToDelete(entity.index)) LIMIT 1") {
            reach.noteSeed(of: entity.index)
        }
        var round: Int64 = 0
        var hasGrown = true
        while hasGrown {
            hasGrown = false
            for (_, relationship) in relationships where relationship.deleteRule.deletesDestinations {
                try store.runOnce(
                    """
                    INSERT OR IGNORE INTO temp.\(tableToDelete(relationship.destinationIndex)) (pk, round) \
                    SELECT destination, ?1 + 1 FROM (\(links(relationship, where: "x.round = ?1")))
                    """
                ) { $0.bind(1, round) }
                if store.changedRowCount == 0 { continue }
                hasGrown = true
                reach.note(relationship, model)
            }
            round += 1
        }
        return reach
    }

    /// A query of the links from objects to delete: columns `source` and `destination`.
    private func links(_ relationship: Relationship, where condition: String = "1") -> String {
        let near = tableToDelete(relationship.entityIndex)
        switch relationship.storage {
        case .column(let slot):
            let column = SQLText.quoted(model.entities[relationship.entityIndex].columnNames[slot])
            // The destination is looked up, for the reference may dangle.
            return """
                SELECT s.pk AS source, d.pk AS destination FROM temp.\(near) x \
                CROSS JOIN \(table(relationship.entityIndex)) s ON s.pk = x.pk \
                CROSS JOIN \(table(relationship.destinationIndex)) d ON d.pk = s.\(column) WHERE \(condition)
                """
        case .inverseColumn(let slot):
            let column = SQLText.quoted(model.entities[relationship.destinationIndex].columnNames[slot])
            return """
                SELECT x.pk AS source, d.pk AS destination FROM temp.\(near) x \
                CROSS JOIN \(table(relationship.destinationIndex)) d ON d.\(column) = x.pk WHERE \(condition)
                """
        case .join(let index, let isOwner):
            let join = model.joinTables[index].quotedName
            let (here, there) = isOwner ? ("owner", "destination") : ("destination", "owner")
            return """
                SELECT x.pk AS source, j.\(there) AS destination FROM temp.\(near) x \
                CROSS JOIN \(join) j ON j.\(here) = x.pk WHERE \(condition)
                """
        }
    }

    /// Restricts a query of links to destinations that survive.
    private func survivors(_ relationship: Relationship) -> String {
        """
        SELECT l.source, l.destination FROM (\(links(relationship))) l \
        WHERE l.destination NOT IN (SELECT pk FROM temp.\(tableToDelete(relationship.destinationIndex)))
        """
    }

    private func deny() throws {
        for (entity, relationship) in relationships where relationship.deleteRule.refusesWhileDestinationsStay {
            try fail(entity, of: "SELECT DISTINCT source FROM (\(survivors(relationship)))") {
                .deniedDelete(relationship, of: $0)
            }
        }
        try failures.list.check()
    }

    /// Notes a broken rule once for each object whose key a query has, under the object's own entity, as a deletion in
    /// memory does.
    private func fail(
        _ entity: Entity, of query: String, _ failure: (Entity) -> ValidationFailure
    ) throws(StoreError) {
        let most = ValidationFailures.maximumDetailCount
        for (own, kind) in kinds(entity) {
            let statement = try PreparedStatement(
                store.connection,
                sql: """
                    SELECT pk, \(SQLText.quoted(own.identity.columnName)) FROM \(table(own.index)) \
                    WHERE pk IN (\(query))\(kind) ORDER BY pk LIMIT \(most)
                    """)
            while try statement.step() {
                failures.list.add(failure(own).about(statement.value(1), ManagedObjectID(own, statement.integer(0))))
            }
        }
    }

    /// Calls the program's own checks with each object that goes, a page at a time.
    private func callValidators() throws(StoreError) {
        if validators.isEmpty { return }
        for entity in model.rootEntities where kinds(entity).contains(where: { validators.hasDelete($0.entity) }) {
            var last = Int64.min
            while true {
                let statement = try PreparedStatement(
                    store.connection,
                    sql: "SELECT pk FROM temp.\(tableToDelete(entity.index)) WHERE pk > ? ORDER BY pk LIMIT 512")
                statement.bind(1, last)
                var keys: [Int64] = []
                while try statement.step() { keys.append(statement.integer(0)) }
                guard let end = keys.last else { break }
                try store.rows(of: entity.index, .primaryKeys(keys)) { row in
                    if row.isPlaceholder { return }
                    let found = validators.failures(
                        row.entity, values: row.values, oldValues: row.values, \.validateForDelete)
                    let (identity, id) = (row.values[row.entity.identitySlot], ManagedObjectID(row.entity, row.pk))
                    failures.list.add(found.map { $0.about(identity, id) })
                }
                last = end
            }
        }
    }

    func exists(_ sql: String) throws(StoreError) -> Bool {
        try PreparedStatement(store.connection, sql: sql).step()
    }

    // MARK: Survivors

    /// Clears the columns in which survivors refer to deleted objects.
    private func clearReferences(_ propagation: DerivedPropagation, into tally: inout ChangeTally) throws {
        for (_, relationship) in relationships where relationship.isCleared(by: relationship.deleteRule) {
            guard let inverse = model.inverse(of: relationship), case .column(let slot) = inverse.storage else {
                continue
            }
            // An object that refers to a deleted one by the inverse of a cascade is deleted too.
            if relationship.deleteRule.deletesDestinations, case .inverseColumn = relationship.storage { continue }
            try clear(inverse, slot, forgetting: relationship, propagation, into: &tally)
        }
    }

    private func clear(
        _ inverse: Relationship, _ slot: Int, forgetting: Relationship, _ propagation: DerivedPropagation,
        into tally: inout ChangeTally
    ) throws {
        let entity = model.entities[inverse.entityIndex]
        let column = SQLText.quoted(entity.columnNames[slot])
        let name = table(entity.index)
        let condition = """
            \(column) IN (SELECT pk FROM temp.\(tableToDelete(forgetting.entityIndex))) \
            AND pk NOT IN (SELECT pk FROM temp.\(tableToDelete(entity.index)))
            """
        if !inverse.isOptional {
            try fail(entity, of: "SELECT pk FROM \(name) WHERE _placeholder = 0 AND \(condition)") {
                .missing(inverse.name, of: $0)
            }
        }
        for (own, kind) in kinds(entity) {
            let times = try setTimes(own, where: condition + kind, propagation)
            try appendChanges(
                own, .update, from: "\(name) e WHERE \(condition)\(kind)",
                properties: (times + [entity.slotNames[slot]]).joined(separator: ","), into: &tally)
        }
        let place = forgetting.positionSlot.map { ", \(SQLText.quoted(entity.columnNames[$0])) = NULL" } ?? ""
        try store.runOnce("UPDATE \(name) SET \(column) = NULL\(place) WHERE \(condition)")
    }

    /// Checks the minimum counts of survivors that deleted objects referred to in columns.
    private func checkColumnMinimums() throws {
        for (entity, relationship) in relationships where relationship.isCleared(by: relationship.deleteRule) {
            guard case .column(let slot) = relationship.storage, let inverse = model.inverse(of: relationship),
                inverse.isToMany, inverse.minimumCount > 0
            else { continue }
            let column = "j." + SQLText.quoted(entity.columnNames[slot])
            try checkMinimum(
                inverse, relationship, remaining: "\(table(entity.index)) j WHERE \(column) = s.destination AND j.pk")
        }
    }

    /// Notes the survivors whose links in join tables go; ``clearStoredReferences()`` removes the links.
    private func noteLostLinks(_ propagation: DerivedPropagation, into tally: inout ChangeTally) throws {
        for (_, relationship) in relationships where relationship.isCleared(by: relationship.deleteRule) {
            guard let inverse = model.inverse(of: relationship), case .join(let index, let isOwner) = inverse.storage
            else { continue }
            if inverse.minimumCount > 0 {
                let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
                try checkMinimum(
                    inverse, relationship,
                    remaining: "\(model.joinTables[index].quotedName) j WHERE j.\(near) = s.destination AND j.\(far)")
            }
            let condition = "pk IN (SELECT destination FROM (\(survivors(relationship))))"
            for (own, kind) in kinds(model.entities[relationship.destinationIndex]) {
                let times = try setTimes(own, where: condition + kind, propagation)
                try appendChanges(
                    own, .update, from: "\(table(own.index)) e WHERE \(condition)\(kind)",
                    properties: (times + [inverse.name]).joined(separator: ","), into: &tally)
            }
        }
    }

    /// Clears survivors' references and links to deleted objects, as far as no delete rule has cleared them.
    private func clearStoredReferences() throws(StoreError) {
        for reference in store.storedReferences {
            let keys = "(SELECT pk FROM temp.\(tableToDelete(reference.destination)))"
            let staying = reference.holder.map { " AND pk NOT IN (SELECT pk FROM temp.\(tableToDelete($0)))" } ?? ""
            try store.runOnce("\(reference.clearing) IN \(keys)\(staying)")
        }
    }

    /// A survivor that keeps some links, but fewer than its minimum, refuses the deletion.
    ///
    /// - Parameter remaining: the table of its links and a condition, up to the key that must not be a deleted one.
    private func checkMinimum(_ inverse: Relationship, _ relationship: Relationship, remaining: String) throws {
        let survivor = model.entities[inverse.entityIndex]
        let floor = inverse.isOptional ? "AND remaining > 0" : ""
        try fail(
            survivor,
            of: """
                SELECT DISTINCT destination FROM (SELECT s.destination, (SELECT count(*) FROM \(remaining) NOT IN \
                (SELECT pk FROM temp.\(tableToDelete(relationship.entityIndex)))) AS remaining \
                FROM (\(survivors(relationship))) s \
                JOIN \(table(survivor.index)) o ON o.pk = s.destination WHERE o._placeholder = 0) \
                WHERE remaining < \(inverse.minimumCount) \(floor)
                """
        ) {
            ValidationFailure(
                reason: .tooFewDestinations, entity: $0.name, property: inverse.name,
                limit: "needs at least \(counted(inverse.minimumCount, "object")) and would keep fewer")
        }
    }
}
