// References, links, inverses, entities of hierarchies, and order.
extension PostgresVerifier {
    /// To-one columns lead to rows; the model lets those dangle whose inverse has the delete rule 'no action'.
    func checkReferences(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            for (relationship, column) in columns(entity) {
                check.checkedCount += try integer("SELECT count(\(column)) FROM \(table(entity))") ?? 0
                if model.inverse(of: relationship)?.deleteRule.leavesDanglingReferences == true { continue }
                let destination = model.entities[relationship.destinationIndex]
                try rows(
                    """
                    SELECT \(identityColumn(entity, "e")) FROM \(table(entity)) e \
                    WHERE e.\(column) IS NOT NULL AND \(isMissing(destination, "e.\(column)")) ORDER BY e.pk
                    """
                ) { row in
                    let problem = StoreProblem.dangling(destination.name)
                    check.report(entity.name, identity(row, 0, entity), relationship.name, problem)
                }
            }
        }
    }

    /// Rows of join tables lead to rows, and those of a relationship that is its own inverse come in both directions.
    func checkLinks(_ check: inout Check) throws(StoreError) {
        for join in model.joinTables {
            let name = join.quotedName
            check.checkedCount += try integer("SELECT count(*) FROM \(name)") ?? 0
            for (column, index) in [("owner", join.ownerEntity), ("destination", join.destinationEntity)] {
                let entity = model.entities[index]
                try rows(
                    """
                    SELECT j.owner, j.destination FROM \(name) j WHERE \(isMissing(entity, "j.\(column)")) ORDER BY 1, 2
                    """
                ) { row in
                    let pair = Pair(owner: row.integer(0), destination: row.integer(1))
                    check.report(join.name, nil, column, StoreProblem.danglingLink(pair, entity.name))
                }
            }
            if join.isOwnInverse { try checkSymmetry(join, &check) }
        }
    }

    private func checkSymmetry(_ join: JoinTable, _ check: inout Check) throws(StoreError) {
        let entity = model.entities[join.ownerEntity]
        let relationship = entity.relationships[join.ownerRelationship].name
        try rows(
            """
            SELECT \(identityColumn(entity, "e")) FROM \(join.quotedName) l LEFT JOIN \(table(entity)) e \
            ON e.pk = l.owner WHERE NOT EXISTS (SELECT 1 FROM \(join.quotedName) b \
            WHERE b.owner = l.destination AND b.destination = l.owner) ORDER BY l.owner, l.destination
            """
        ) { row in check.report(entity.name, identity(row, 0, entity), relationship, StoreProblem.oneWayLink) }
    }

    /// Both ends of a one-to-one relationship lead to each other.
    func checkInverses(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            for (relationship, column) in columns(entity) {
                guard let inverse = model.inverse(of: relationship), inverse.slot != nil else { continue }
                let destination = model.entities[relationship.destinationIndex]
                check.checkedCount += try integer("SELECT count(\(column)) FROM \(table(entity))") ?? 0
                try rows(
                    """
                    SELECT \(identityColumn(entity, "e")) FROM \(table(entity)) e JOIN \(table(destination)) d \
                    ON d.pk = e.\(column) WHERE d.\(SQLText.quoted(inverse.columnName)) IS DISTINCT FROM e.pk \
                    ORDER BY e.pk
                    """
                ) { row in
                    let problem = StoreProblem.noWayBack(destination.name, inverse.name)
                    check.report(entity.name, identity(row, 0, entity), relationship.name, problem)
                }
            }
        }
    }

    func checkCount(
        of relationship: Relationship, _ entity: Entity, _ check: inout Check
    ) throws(StoreError) {
        check.checkedCount += try rowCount(entity)
        let links = destinations(relationship)
        // Counts apply when the relationship is not empty, unless it is required.
        let floor = relationship.isOptional ? "_number > 0 AND " : ""
        let ceiling = relationship.maximumCount.map { " OR _number > \($0)" } ?? ""
        try rows(
            """
            SELECT * FROM (SELECT \(identityColumn(entity, "o")), \
            (SELECT count(*) FROM \(links.from) WHERE \(links.owner) = o.pk) AS _number \
            FROM \(table(entity)) o WHERE NOT o._placeholder ORDER BY o.pk) q \
            WHERE \(floor)_number < \(relationship.minimumCount)\(ceiling)
            """
        ) { row in
            check.report(
                entity.name, identity(row, 0, entity), relationship.name,
                StoreProblem.destinationCount(row.integer(1), relationship))
        }
    }

    // MARK: Hierarchies

    /// Rows of a hierarchy name an entity of it, and an abstract one only while nothing but the identity is known.
    func checkEntities(_ check: inout Check) throws(StoreError) {
        for root in model.rootEntities where root.sharesTable {
            check.checkedCount += try rowCount(root)
            let members = [root] + root.subentityIndexes.map { model.entities[$0] }
            let head = "SELECT \(identityColumn(root, "e")), e._entity FROM \(table(root)) e"
            try rows("\(head) WHERE e._entity NOT IN (\(SQLText.literals(members.map(\.name)))) ORDER BY e.pk") {
                row in
                check.report(root.name, identity(row, 0, root), nil, StoreProblem.foreignEntity(row.text(1)))
            }
            for entity in members where entity.isAbstract {
                let name = SQLText.literal(entity.name)
                try rows("\(head) WHERE e._entity = \(name) AND NOT e._placeholder ORDER BY e.pk") { row in
                    check.report(root.name, identity(row, 0, root), nil, StoreProblem.abstractEntity(entity.name))
                }
            }
        }
    }

    // MARK: Order

    /// The content of an ordered relationship has a place, and no two have the same; gaps are harmless.
    func checkOrder(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            for relationship in entity.ownRelationships where relationship.isOrdered {
                let places = places(relationship)
                let owners = "JOIN \(table(entity)) o ON o.pk = l.owner"
                let content = "FROM \(places.from) WHERE \(places.owner) IS NOT NULL"
                check.checkedCount +=
                    try integer("SELECT count(*) FROM (SELECT \(places.owner) AS owner \(content)) l \(owners)") ?? 0
                // A verification may have millions of owners, so the server returns those alone whose places are wrong.
                try rows(
                    """
                    SELECT \(identityColumn(entity, "o")), l.* FROM (SELECT \(places.owner) AS owner, count(*), \
                    count(\(places.place)), count(DISTINCT \(places.place)) \(content) GROUP BY 1 \
                    HAVING count(*) <> count(DISTINCT \(places.place))) l \(owners) ORDER BY o.pk
                    """
                ) { row in
                    let (count, placed, distinct) = (row.integer(2), row.integer(3), row.integer(4))
                    func report(_ what: String) {
                        check.report(entity.name, identity(row, 0, entity), relationship.name, what)
                    }
                    if placed < count { report(StoreProblem.unplaced(count: count - placed)) }
                    if distinct < placed { report(StoreProblem.sharedPlaces(count: placed - distinct)) }
                }
            }
        }
    }
}
