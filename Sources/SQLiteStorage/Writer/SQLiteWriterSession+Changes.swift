import GRDBSQLite
import StoreSQL

// A save's changes, in rows of their own or in ranges.
extension SQLiteWriterSession {
    func append(_ entries: HistoryEntries, token: Int64) throws(StoreError) {
        let groups = ChangeGroups(entries, usesRanges: try !indexesChangesByObject())
        try append(entries, at: groups.single, token: token)
        var id = entries.firstChange + Int64(groups.single.count)
        for (entity, range) in groups.ranges {
            try appendRange(range, id: id, token: token, entity: entity.name)
            id += range.count
        }
    }

    /// The statements that insert changes, by the number of their rows, the most first.
    ///
    /// More than a quarter of a single insertion's work begins and ends its statement.
    private static let changeInsertions = [32, 8, 1].map { count in
        let rows = (0..<count).map { "(?1, ?2 + \($0), ?, ?, ?, ?, ?, ?)" }
        let columns = "token, id, entity, object, identity, change, properties, tombstone"
        return (
            count: count,
            sql: "\(SQLText.insertion) _history_change (\(columns)) VALUES \(rows.joined(separator: ", "))"
        )
    }

    private func append(
        _ entries: HistoryEntries, at indexes: [Int], token: Int64
    ) throws(StoreError) {
        var start = 0
        for (count, sql) in Self.changeInsertions where indexes.count - start >= count {
            let statement = try statement(sql)
            statement.bind(1, token)
            while indexes.count - start >= count {
                statement.bind(2, entries.firstChange + Int64(start))
                var position = 3
                for index in indexes[start..<start + count] {
                    statement.bind(position, entries[index].object.entity.name)
                    statement.bind(position + 1, entries[index].object.key)
                    statement.bind(position + 2, entries[index].object.identity)
                    statement.bind(position + 3, entries[index].kind.rawValue)
                    statement.bind(position + 4, entries[index].properties)
                    statement.bind(position + 5, entries[index].preservedValues)
                    position += 6
                }
                try statement.run()
                start += count
            }
        }
    }

    /// Tells whether the store has the index that finds an object's changes: it knows nothing of ranges.
    private func indexesChangesByObject() throws(StoreError) -> Bool {
        if let known = hasObjectIndex { return known }
        let name = Schema.historyObjectIndexName
        let found = try integer("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?") { $0.bind(1, name) }
        hasObjectIndex = found != nil
        return found != nil
    }
}
