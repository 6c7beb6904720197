extension PostgresStorage: StorageAdministration {
    func verify(
        _ snapshot: ReadContext, _ slices: VerificationSlices, progress: (VerificationStep) -> Void
    ) throws -> VerificationReport {
        try withoutActuallyEscaping(progress) { progress in
            try PostgresVerifier(snapshot, slices, VerificationProgress(progress)).verify()
        }
    }
}

// MARK: - Answers to a repair

extension PostgresWriterSession: RepairQueries {
    func danglingKeys(_ relationship: Relationship, of entity: Entity, limit: Int) throws(StoreError) -> [Int64] {
        let destination = SQLText.quoted(model.entities[relationship.destinationIndex].viewName)
        let column = "e.\(SQLText.quoted(relationship.columnName))"
        return try find(
            """
            SELECT e.pk FROM \(SQLText.quoted(entity.viewName)) e WHERE \(column) IS NOT NULL \
            AND NOT EXISTS (SELECT 1 FROM \(destination) d WHERE d.pk = \(column)) ORDER BY e.pk LIMIT $1::int8
            """, Int64(limit)
        ) { $0.integer(0) }
    }

    func orphanedLinks(_ join: JoinTable, limit: Int) throws(StoreError) -> [Pair] {
        func missing(_ entity: Int, _ column: String) -> String {
            let name = SQLText.quoted(model.entities[entity].viewName)
            return "NOT EXISTS (SELECT 1 FROM \(name) e WHERE e.pk = j.\(column))"
        }
        return try find(
            """
            SELECT j.owner, j.destination FROM \(join.quotedName) j WHERE \(missing(join.ownerEntity, "owner")) \
            OR \(missing(join.destinationEntity, "destination")) ORDER BY 1, 2 LIMIT $1::int8
            """, Int64(limit)
        ) { Pair(owner: $0.integer(0), destination: $0.integer(1)) }
    }

    func keys(of entity: Entity, after key: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try find(
            "SELECT pk FROM \(SQLText.quoted(entity.viewName)) WHERE pk > $1::int8 ORDER BY pk LIMIT $2::int8",
            key, Int64(limit)
        ) { $0.integer(0) }
    }

    private func find<Result>(
        _ sql: String, _ numbers: Int64..., body: (PostgresRow) -> Result
    ) throws(StoreError) -> [Result] {
        var statement = PostgresStatement(sql)
        for number in numbers { statement.bind(number) }
        return try connection.run(statement, "repair the store").rows.map(body)
    }
}
