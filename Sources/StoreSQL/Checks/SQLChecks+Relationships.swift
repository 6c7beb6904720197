// References, links, inverses, numbers of destinations, and order.
extension SQLChecks {
    /// To-one columns lead to rows; the model lets those dangle whose inverse has the delete rule 'no action'.
    package func checkReferences(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            for (relationship, column) in columns(entity) {
                let mayDangle = model.inverse(of: relationship)?.deleteRule.leavesDanglingReferences == true
                let destination = model.entities[relationship.destinationIndex]
                try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
                    check.checkedCount += try count(table(entity), column, in: slice)
                    if mayDangle { return }
                    try rows(
                        """
                        SELECT \(selected(entity.identity, "e")) FROM \(table(entity)) e WHERE e.\(column) IS NOT NULL \
                        AND \(slice.holds("e.pk")) AND \(isMissing(destination, "e.\(column)")) ORDER BY e.pk
                        """
                    ) { row in
                        let problem = StoreProblem.dangling(destination.name)
                        check.report(entity.name, identity(row, entity), relationship.name, problem)
                    }
                }
            }
        }
    }

    /// Checks that rows of join tables lead to rows. A relationship that is its own inverse must have its links in both
    /// directions.
    package func checkLinks(_ check: inout Check) throws(StoreError) {
        for join in model.joinTables {
            let name = join.quotedName
            try eachSlice(of: name, by: .number("owner"), &check) { slice, check throws(StoreError) in
                check.checkedCount += try count(name, in: slice, by: "owner")
                for (column, index) in [("owner", join.ownerEntity), ("destination", join.destinationEntity)] {
                    let entity = model.entities[index]
                    try rows(
                        """
                        SELECT j.owner, j.destination FROM \(name) j WHERE \(slice.holds("j.owner")) \
                        AND \(isMissing(entity, "j.\(column)")) ORDER BY 1, 2
                        """
                    ) { row in
                        let pair = Pair(owner: row.integer(0), destination: row.integer(1))
                        check.report(join.name, nil, column, StoreProblem.danglingLink(pair, entity.name))
                    }
                }
                if join.isOwnInverse { try checkSymmetry(join, slice, &check) }
            }
        }
    }

    private func checkSymmetry(_ join: JoinTable, _ slice: SQLSlice, _ check: inout Check) throws(StoreError) {
        let entity = model.entities[join.ownerEntity]
        let relationship = entity.relationships[join.ownerRelationship].name
        try rows(
            """
            SELECT \(selected(entity.identity, "e")) FROM \(join.quotedName) l LEFT JOIN \(table(entity)) e \
            ON e.pk = l.owner WHERE \(slice.holds("l.owner")) AND NOT EXISTS (SELECT 1 FROM \(join.quotedName) b \
            WHERE b.owner = l.destination AND b.destination = l.owner) ORDER BY l.owner, l.destination
            """
        ) { row in check.report(entity.name, identity(row, entity), relationship, StoreProblem.oneWayLink) }
    }

    /// Both ends of a one-to-one relationship lead to each other.
    package func checkInverses(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            for (relationship, column) in columns(entity) {
                guard let inverse = model.inverse(of: relationship), inverse.slot != nil else { continue }
                let destination = model.entities[relationship.destinationIndex]
                let way = "d.\(SQLText.quoted(inverse.columnName))"
                try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
                    check.checkedCount += try count(table(entity), column, in: slice)
                    try rows(
                        """
                        SELECT \(selected(entity.identity, "e")) FROM \(table(entity)) e JOIN \(table(destination)) d \
                        ON d.pk = e.\(column) WHERE \(way) \(Dialect.isDistinct) e.pk AND \(slice.holds("e.pk")) \
                        ORDER BY e.pk
                        """
                    ) { row in
                        let problem = StoreProblem.noWayBack(destination.name, inverse.name)
                        check.report(entity.name, identity(row, entity), relationship.name, problem)
                    }
                }
            }
        }
    }

    package func checkCount(
        of relationship: Relationship, _ entity: Entity, _ check: inout Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        // Counts apply when the relationship is not empty, unless it is required.
        let floor = relationship.isOptional ? "number > 0 AND " : ""
        let ceiling = relationship.maximumCount.map { " OR number > \($0)" } ?? ""
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            try rows(
                """
                SELECT identity, number FROM (SELECT o.pk, \(selected(entity.identity, "o")) AS identity, \
                (SELECT count(*) FROM \(links.from) WHERE \(links.owner) = o.pk) AS number \
                FROM \(table(entity)) o WHERE NOT o._placeholder AND \(slice.holds("o.pk"))) q \
                WHERE \(floor)number < \(relationship.minimumCount)\(ceiling) ORDER BY pk
                """
            ) { row in
                let problem = StoreProblem.destinationCount(row.integer(1), relationship)
                check.report(entity.name, identity(row, entity), relationship.name, problem)
            }
        }
    }

    /// The content of an ordered relationship has a place, and no two have the same; gaps are harmless.
    package func checkOrder(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            for relationship in entity.ownRelationships where relationship.isOrdered {
                let places = places(relationship)
                try eachSlice(of: places.from, by: .number(places.owner), &check) { slice, check throws(StoreError) in
                    try checkOrder(of: relationship, entity, slice, &check)
                }
            }
        }
    }

    private func checkOrder(
        of relationship: Relationship, _ entity: Entity, _ slice: SQLSlice, _ check: inout Check
    ) throws(StoreError) {
        let places = places(relationship)
        let content: SQLFragment = "FROM \(places.from) WHERE \(slice.holds(places.owner))"
        let owners = "JOIN \(table(entity)) o ON o.pk = l.owner"
        check.checkedCount +=
            try integer("SELECT count(*) FROM (SELECT \(places.owner) AS owner \(content)) l \(owners)") ?? 0
        // A store may have millions of owners, so the engine returns only owners whose places are wrong.
        try rows(
            """
            SELECT \(selected(entity.identity, "o")), l.number, l.placed, l.different FROM \
            (SELECT \(places.owner) AS owner, count(*) AS number, count(\(places.place)) AS placed, \
            count(DISTINCT \(places.place)) AS different \(content) GROUP BY \(places.owner) \
            HAVING count(*) <> count(DISTINCT \(places.place))) l \(owners) ORDER BY o.pk
            """
        ) { row in
            let (count, placed, distinct) = (row.integer(1), row.integer(2), row.integer(3))
            func report(_ what: String) { check.report(entity.name, identity(row, entity), relationship.name, what) }
            if placed < count { report(StoreProblem.unplaced(count: count - placed)) }
            if distinct < placed { report(StoreProblem.sharedPlaces(count: placed - distinct)) }
        }
    }
}
