import StoreSQL

// Rows and links: one statement for each list.
extension PostgresWriterSession {
    func write(_ changes: RowChanges) throws(StoreError) {
        var statements: [PostgresStatement] = []
        statements += removals(changes.removedLinks)
        statements += deletions(changes.deletedKeys)
        for rows in changes.vacated { statements.append(try update(rows)) }
        for rows in changes.updates { statements.append(try update(rows)) }
        statements += entityChanges(changes.entityChanges)
        for rows in changes.insertions { statements.append(try insert(rows)) }
        statements += insertions(changes.links)
        if let draft { return statements.forEach(draft.append) }
        // A refused row has to show before the save ends: the graph then goes on without its event. The positions, or the
        // end of the history's transaction, take the rows along.
        for statement in statements { connection.enqueue(statement) { _ in } }
    }

    // MARK: Rows

    private func deletions(_ deleted: [Int: [Int64]]) -> [PostgresStatement] {
        if deleted.isEmpty { return [] }
        return StoredReference.deletions(of: deleted, StoredReference.all(model), model).map { sql, keys in
            var statement = PostgresStatement("\(sql) = ANY($1::int8[])")
            statement.bind(keys)
            return statement
        }
    }

    private func update(_ rows: RowChanges.Updates) throws(StoreError) -> PostgresStatement {
        let table = tables[rows.root]
        var (lists, names, settings) = (["$1::int8[]"], ["k"], [String]())
        for slot in rows.slots {
            names.append("c\(slot)")
            lists.append(table.kinds[slot].list(lists.count + 1))
            let value = table.kinds[slot].stored("r.c\(slot)")
            let column = table.columns[slot]
            // Of a list of updates some rows leave the column as it is, whatever others make of it: null stands for that.
            switch share?.columns.use(rows.root, slot) {
            case .added where isDraft:
                let sum = share?.columns.sum("t.\(column)", value, table.kinds[slot]) ?? value
                settings.append("\(column) = coalesce(\(sum), t.\(column))")
            case .unread where isDraft: settings.append("\(column) = coalesce(\(value), t.\(column))")
            default: settings.append("\(column) = \(value)")
            }
        }
        if rows.setsPlaceholder {
            names.append("p")
            lists.append("$\(lists.count + 1)::boolean[]")
            settings.append("_placeholder = r.p")
        }
        var statement = PostgresStatement(
            """
            UPDATE \(table.name) t SET \(settings.joined(separator: ", ")) \
            FROM unnest(\(lists.joined(separator: ", "))) AS r(\(names.joined(separator: ", "))) WHERE t.pk = r.k
            """)
        statement.bind(rows.keys)
        for slot in rows.slots {
            switch share?.columns.use(rows.root, slot) {
            case .added where isDraft:
                try statement.bind(try differences(slot, rows, table.kinds[slot]), as: table.kinds[slot])
            case .unread where isDraft: try statement.bind(try changes(slot, rows), as: table.kinds[slot])
            default: try statement.bind(rows.values.lazy.map { $0[slot] }, as: table.kinds[slot])
            }
        }
        if rows.setsPlaceholder { statement.bind(rows.placeholders) }
        return settings.isEmpty ? PostgresStatement("SELECT 1") : statement
    }

    /// The values that a draft changes in a column; null where the draft leaves the value as it is. Other writers may have
    /// changed the column since it was read.
    private func changes(_ slot: Int, _ rows: RowChanges.Updates) throws(StoreError) -> [Value] {
        guard rows.formerValues.count == rows.values.count else { throw .conflict }
        var changes: [Value] = []
        for (values, former) in zip(rows.values, rows.formerValues) {
            let isChanged = values[slot] != former[slot]
            if isChanged, values[slot].isNull { throw .conflict }
            changes.append(isChanged ? values[slot] : .null)
        }
        return changes
    }

    /// The differences that a draft adds to the values of a column; null where the draft leaves the value as it is.
    private func differences(
        _ slot: Int, _ rows: RowChanges.Updates, _ kind: ColumnKind
    ) throws(StoreError) -> [Value] {
        guard rows.formerValues.count == rows.values.count else { throw .conflict }
        let factor: Int64 = share?.faults.contains(.addsTwice) == true ? 2 : 1
        var differences: [Value] = []
        for (values, former) in zip(rows.values, rows.formerValues) {
            if values[slot] == former[slot] {
                differences.append(.null)
                continue
            }
            guard kind == .numeric else {
                let difference = (values[slot].integer ?? 0) &- (former[slot].integer ?? 0)
                differences.append(.integer(difference &* factor))
                continue
            }
            var difference = ExactDecimalSum()
            difference.add(values[slot].text ?? "0", times: factor)
            difference.add(former[slot].text ?? "0", times: -factor)
            guard difference.isExact else { throw .conflict }
            differences.append(.text(difference.text))
        }
        return differences
    }

    private func entityChanges(_ changes: [(key: Int64, entity: Entity)]) -> [PostgresStatement] {
        Dictionary(grouping: changes) { $0.entity.rootIndex }.sorted { $0.key < $1.key }.map { root, changes in
            var statement = PostgresStatement(
                """
                UPDATE \(tables[root].name) t SET _entity = r.e FROM unnest($1::int8[], $2::text[]) AS r(k, e) \
                WHERE t.pk = r.k
                """)
            statement.bind(changes.map(\.key), changes.map(\.entity.name))
            return statement
        }
    }

    private func insert(_ rows: RowChanges.Insertions) throws(StoreError) -> PostgresStatement {
        let table = tables[rows.entity.index]
        let slots = table.columns.indices
        var columns = ["pk"] + table.columns + ["_placeholder"]
        var values = ["r.k"] + slots.map { table.kinds[$0].stored("r.c\($0)") } + ["r.p"]
        let lists =
            ["$1::int8[]"] + slots.map { table.kinds[$0].list($0 + 2) } + ["$\(slots.count + 2)::boolean[]"]
        let names = ["k"] + slots.map { "c\($0)" } + ["p"]
        if rows.entity.sharesTable {
            columns.append("_entity")
            values.append("$\(lists.count + 1)::text")
        }
        var statement = PostgresStatement(
            """
            INSERT INTO \(table.name) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) \
            FROM unnest(\(lists.joined(separator: ", "))) AS r(\(names.joined(separator: ", ")))
            """)
        statement.bind(rows.keys)
        for slot in slots { try statement.bind(rows.values.lazy.map { $0[slot] }, as: table.kinds[slot]) }
        statement.bind(rows.placeholders)
        if rows.entity.sharesTable { statement.bind(rows.entity.name) }
        return statement
    }

    // MARK: Links

    private func removals(_ links: [RowChanges.Link]) -> [PostgresStatement] {
        byTable(links).map { table, links in
            var statement = PostgresStatement(
                """
                DELETE FROM \(model.joinTables[table].quotedName) j USING unnest($1::int8[], $2::int8[]) AS r(o, d) \
                WHERE j.owner = r.o AND j.destination = r.d
                """)
            statement.bind(links.map(\.pair.owner), links.map(\.pair.destination))
            return statement
        }
    }

    private func insertions(_ links: [RowChanges.Link]) -> [PostgresStatement] {
        byTable(links).map { table, links in
            let join = model.joinTables[table]
            let columns = join.positionColumns.map(SQLText.quoted)
            let lists = (0..<columns.count + 2).map { "$\($0 + 1)::int8[]" }
            let settings = columns.map { "\($0) = excluded.\($0)" }
            var statement = PostgresStatement(
                """
                INSERT INTO \(join.quotedName) (\((["owner", "destination"] + columns).joined(separator: ", "))) \
                SELECT * FROM unnest(\(lists.joined(separator: ", "))) ON CONFLICT (owner, destination) \
                DO \(settings.isEmpty ? "NOTHING" : "UPDATE SET \(settings.joined(separator: ", "))")
                """)
            // One statement cannot write a row twice: the last places of a pair count.
            let last = Dictionary(links.map { ($0.pair, $0.places) }) { _, last in last }
            let pairs = Array(last)
            statement.bind(pairs.map(\.key.owner), pairs.map(\.key.destination))
            if join.ordersDestinations { statement.bind(pairs.map(\.value.destination)) }
            if join.ordersOwners { statement.bind(pairs.map(\.value.owner)) }
            return statement
        }
    }

    private func byTable(_ links: [RowChanges.Link]) -> [(key: Int, value: [RowChanges.Link])] {
        Dictionary(grouping: links, by: \.table).sorted { $0.key < $1.key }
    }
}
