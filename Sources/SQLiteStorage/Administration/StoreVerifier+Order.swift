// Entities of hierarchies, and the order of ordered relationships.
extension StoreVerifier {
    /// Rows of a hierarchy name an entity of it, and an abstract one only while nothing but the identity is known.
    func checkEntities(_ check: inout VerificationReport.Check) throws(StoreError) {
        for root in model.rootEntities where root.sharesTable {
            let members = [root] + root.subentityIndexes.map { model.entities[$0] }
            let identity = SQLText.quoted(root.identity.columnName)
            let abstract = members.filter(\.isAbstract)
            try eachSlice(of: root, &check) { slice, check throws(StoreError) in
                try rows(
                    """
                    SELECT \(identity), _entity FROM \(table(root)) \
                    WHERE \(slice.holds("pk")) AND _entity NOT IN (\(SQLText.parameters(members.count)))
                    """, slice.bounds + members.map { .text($0.name) }
                ) { row in
                    let what = StoreProblem.foreignEntity(row.text(1))
                    check.report(root.name, self.identity(row.value(0), root), nil, what)
                }
                if abstract.isEmpty { return }
                try rows(
                    """
                    SELECT \(identity), _entity FROM \(table(root)) WHERE \(slice.holds("pk")) \
                    AND _entity IN (\(SQLText.parameters(abstract.count))) AND _placeholder = 0
                    """, slice.bounds + abstract.map { .text($0.name) }
                ) { row in
                    let what = StoreProblem.abstractEntity(row.text(1))
                    check.report(root.name, self.identity(row.value(0), root), nil, what)
                }
            }
        }
    }

    /// The content of an ordered relationship has a place, and no two have the same; gaps are harmless.
    func checkOrder(_ check: inout VerificationReport.Check) throws(StoreError) {
        for entity in model.entities {
            for relationship in entity.ownRelationships where relationship.isOrdered {
                let places = places(relationship)
                try eachSlice(of: places.from, by: places.owner, &check) { slice, check throws(StoreError) in
                    try checkOrder(of: relationship, entity, places, slice, &check)
                }
            }
        }
    }

    private func checkOrder(
        of relationship: Relationship, _ entity: Entity, _ places: (from: String, owner: String, place: String),
        _ slice: Slice, _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        try rows(
            """
            SELECT o.\(SQLText.quoted(entity.identity.columnName)), count(*), count(l.place), count(DISTINCT l.place) \
            FROM (SELECT \(places.owner) AS owner, \(places.place) AS place FROM \(places.from) \
            WHERE \(slice.holds(places.owner))) l JOIN \(table(entity)) o ON o.pk = l.owner GROUP BY l.owner
            """, slice.bounds
        ) { row in
            let (count, placed, distinct) = (row.integer(1), row.integer(2), row.integer(3))
            check.checkedCount += count
            let owner = identity(row.value(0), entity)
            if placed < count {
                check.report(entity.name, owner, relationship.name, StoreProblem.unplaced(count: count - placed))
            }
            if distinct < placed {
                check.report(
                    entity.name, owner, relationship.name, StoreProblem.sharedPlaces(count: placed - distinct))
            }
        }
    }
}
