// The history and its readers.
extension PostgresSnapshot {
    func lastToken() throws -> Int64? {
        try run(PostgresQuery(), "SELECT max(token) FROM _history_transaction").first?.optionalInteger(0)
    }

    func purgedToken() throws -> Int64 { try metadata("purgedToken").flatMap { Int64($0) } ?? 0 }

    func transactions(_ selection: HistorySelection, limit: Int) throws -> [StoredTransaction] {
        var query = PostgresQuery()
        addTransactions(selection, to: &query)
        if selection.selectsChanges {
            let changes = conditions(on: "c", selection, &query)
            let ranges = conditions(on: "r", selection, &query)
            query.add(
                """
                (EXISTS (SELECT 1 FROM _history_change c WHERE c.token = t.token AND \(changes)) \
                OR EXISTS (SELECT 1 FROM _history_range r WHERE r.token = t.token AND \(ranges)))
                """)
        }
        let count = query.parameter(Int64(limit))
        return try all(
            query,
            """
            SELECT t.token, t.time, t.author, t.context, t.source, t."firstChange", t."changeCount", t.trace \
            FROM _history_transaction t WHERE \(query.condition) ORDER BY t.token LIMIT \(count)
            """
        ) { StoredTransaction($0) }
    }

    func changes(_ selection: HistorySelection, limit: Int) throws -> [StoredChange] {
        var query = PostgresQuery()
        let source = changeRows(selection, &query)
        let count = query.parameter(Int64(limit))
        return try all(
            query,
            """
            SELECT c.id, c.token, c.entity, c.object, c.identity, c.change, c.properties, c.tombstone \
            FROM \(source) ORDER BY c.id LIMIT \(count)
            """
        ) { StoredChange($0) }
    }

    func changeCount(_ selection: HistorySelection) throws -> Int {
        var query = PostgresQuery()
        let source = changeRows(selection, &query)
        return Int(try integer(query, "SELECT count(*) FROM \(source)"))
    }

    func ranges(_ selection: HistorySelection, each: (StoredRange) throws -> Bool) throws {
        var last: Int64 = 0
        while true {
            var query = PostgresQuery()
            query.add("r.id >", last)
            let source = rangeRows(selection, &query)
            let rows = try run(
                query,
                """
                SELECT r.id, r.token, r.entity, r.first, r.last, r.count, r.objects, r.change, r.properties \
                FROM \(source) ORDER BY r.id LIMIT 1000
                """
            ).rows
            for row in rows {
                let range = StoredRange(row)
                last = range.id
                if try !each(range) { return }
            }
            if rows.isEmpty { return }
        }
    }

    func rangeChangeCount(_ selection: HistorySelection) throws -> Int {
        var query = PostgresQuery()
        let source = rangeRows(selection, &query)
        return Int(try integer(query, "SELECT coalesce(sum(r.count), 0)::int8 FROM \(source)"))
    }

    // MARK: Conditions

    private func addTransactions(_ selection: HistorySelection, to query: inout PostgresQuery) {
        query.add("t.token >", selection.after)
        query.add("t.time >=", selection.since)
        query.add("t.time <", selection.before)
        query.add("t.author =", selection.author)
        query.add("t.context =", selection.context)
    }

    /// The selected changes with a row of their own, behind FROM.
    private func changeRows(_ selection: HistorySelection, _ query: inout PostgresQuery) -> String {
        query.add("c.id >=", selection.ids.lowerBound)
        query.add("c.id <", selection.ids.upperBound)
        return rows("_history_change", "c", selection, &query)
    }

    /// The ranges that may have a selected change, behind FROM.
    private func rangeRows(_ selection: HistorySelection, _ query: inout PostgresQuery) -> String {
        query.add("r.id <", selection.ids.upperBound)
        query.add("r.id + r.count >", selection.ids.lowerBound)
        return rows("_history_range", "r", selection, &query)
    }

    /// The rows of a table, behind FROM; without conditions on transactions theirs are not looked at.
    private func rows(
        _ table: String, _ alias: String, _ selection: HistorySelection, _ query: inout PostgresQuery
    ) -> String {
        query.add(conditions(on: alias, selection, &query))
        if !selection.selectsTransactions { return "\(table) \(alias) WHERE \(query.condition)" }
        addTransactions(selection, to: &query)
        return "\(table) \(alias) JOIN _history_transaction t ON t.token = \(alias).token WHERE \(query.condition)"
    }

    /// The conditions on changes, or on ranges under the alias `r`.
    private func conditions(
        on alias: String, _ selection: HistorySelection, _ query: inout PostgresQuery
    ) -> String {
        var parts: [String] = []
        if let kinds = selection.kinds {
            parts.append("\(alias).change = ANY(\(query.parameter(kinds.map { Int64($0.rawValue) })))")
        }
        if !selection.entities.isEmpty { parts.append("\(alias).entity = ANY(\(query.parameter(selection.entities)))") }
        if let keys = selection.keys {
            let list = query.parameter(keys)
            parts.append(
                alias == "c"
                    ? "c.object = ANY(\(list))"
                    : """
                    EXISTS (SELECT 1 FROM unnest(\(list)) k WHERE k BETWEEN r.first AND r.last \
                    AND (r.objects IS NULL OR r.objects::jsonb @> to_jsonb(k)))
                    """)
        }
        return parts.isEmpty ? "true" : parts.joined(separator: " AND ")
    }

    // MARK: Identities

    func primaryKeys(_ entity: Entity, identity: Value) throws -> [Int64] {
        let table = tables[entity.index]
        let slot = entity.identitySlot
        let kind = table.kinds[slot]
        var query = PostgresQuery()
        let present = query.parameter("bytea") { statement throws(StoreError) in
            try statement.bind(identity, as: .anyValue)
        }
        let names = query.parameter(model.kindNames(entity))
        var rows = PostgresStatement(
            """
            SELECT t.pk FROM \(table.name) t WHERE t.\(table.columns[slot]) = \(kind.parameter(1)) AND \
            \(entity.parentIndex == nil ? "true" : model.kindCondition(entity, alias: "t."))
            """)
        try rows.bind(identity, as: kind)
        let deleted = try all(
            query,
            """
            SELECT DISTINCT object FROM _history_change WHERE change = 2 AND entity = ANY(\(names)) \
            AND identity = \(present)
            """
        ) { $0.integer(0) }
        return Set(try run(rows).rows.map { $0.integer(0) } + deleted).sorted()
    }

    func deletedIdentities(_ entities: [String], in range: HistoryRange, after id: Int64) throws -> [Int64: Value] {
        var query = PostgresQuery()
        let names = query.parameter(entities)
        if range.objects == nil {
            query.add("object >=", range.first)
            query.add("object <=", range.last)
        } else {
            query.add("object = ANY(\(query.parameter(range.keys)))")
        }
        query.add("id >", id)
        let found = try all(
            query,
            """
            SELECT object, identity FROM _history_change WHERE change = 2 AND entity = ANY(\(names)) \
            AND \(query.condition) ORDER BY id
            """
        ) { ($0.integer(0), $0.value(1, .anyValue)) }
        return Dictionary(found) { _, last in last }
    }

    // MARK: Readers

    func cursors() throws -> [StoredCursor] {
        try all(PostgresQuery(), "SELECT name, token, time FROM _cursor ORDER BY name") {
            StoredCursor($0)
        }
    }

    func unread(after token: Int64) throws -> (count: Int64, oldestTime: Int64?) {
        var query = PostgresQuery()
        query.add("token >", token)
        let row = try run(
            query,
            """
            SELECT count(*), (SELECT time FROM _history_transaction WHERE \(query.condition) ORDER BY token LIMIT 1) \
            FROM _history_transaction WHERE \(query.condition)
            """
        ).first
        return (row?.integer(0) ?? 0, row?.optionalInteger(1))
    }
}
