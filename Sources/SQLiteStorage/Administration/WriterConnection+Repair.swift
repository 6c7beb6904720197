// The answers to a repair.
extension WriterConnection: RepairQueries {
    func danglingKeys(_ relationship: Relationship, of entity: Entity, limit: Int) throws(StoreError) -> [Int64] {
        let destination = SQLText.quoted(model.entities[relationship.destinationIndex].tableName)
        let column = "e.\(SQLText.quoted(relationship.columnName))"
        return try find(
            """
            SELECT e.pk FROM \(SQLText.quoted(entity.tableName)) e WHERE \(column) IS NOT NULL \
            AND NOT EXISTS (SELECT 1 FROM \(destination) d WHERE d.pk = \(column)) LIMIT ?
            """, Int64(limit)
        ) { $0.integer(0) }
    }

    func orphanedLinks(_ join: JoinTable, limit: Int) throws(StoreError) -> [Pair] {
        func missing(_ entity: Int, _ column: String) -> String {
            "\(column) NOT IN (SELECT pk FROM \(SQLText.quoted(model.entities[entity].tableName)))"
        }
        return try find(
            """
            SELECT owner, destination FROM \(SQLText.quoted(join.name)) WHERE \(missing(join.ownerEntity, "owner")) \
            OR \(missing(join.destinationEntity, "destination")) LIMIT ?
            """, Int64(limit)
        ) { Pair(owner: $0.integer(0), destination: $0.integer(1)) }
    }

    func keys(of entity: Entity, after key: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try find(
            "SELECT pk FROM \(SQLText.quoted(entity.viewName)) WHERE pk > ? ORDER BY pk LIMIT ?", key, Int64(limit)
        ) { $0.integer(0) }
    }

    private func find<Result>(
        _ sql: String, _ numbers: Int64..., body: (PreparedStatement) -> Result
    ) throws(StoreError) -> [Result] {
        let statement = try PreparedStatement(connection, sql: sql)
        for (index, number) in numbers.enumerated() { statement.bind(index + 1, number) }
        var found: [Result] = []
        while try statement.step() { found.append(body(statement)) }
        return found
    }
}
