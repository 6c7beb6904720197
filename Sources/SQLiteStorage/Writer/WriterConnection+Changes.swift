extension WriterConnection {
    /// The statements that insert changes, by the number of their rows, the most first.
    ///
    /// More than a quarter of a single insertion's work begins and ends its statement.
    private static let changeInsertions = [32, 8, 1].map { count in
        let rows = (0..<count).map { "(?1, ?2 + \($0), ?, ?, ?, ?, ?, ?)" }
        let columns = "token, id, entity, object, identity, change, properties, tombstone"
        return (count: count, sql: "INSERT INTO _history_change (\(columns)) VALUES \(rows.joined(separator: ", "))")
    }

    func append(_ entries: HistoryEntries, token: Int64) throws(StoreError) {
        var start = 0
        for (count, sql) in Self.changeInsertions where entries.count - start >= count {
            let statement = try statement(sql)
            statement.bind(1, token)
            while entries.count - start >= count {
                statement.bind(2, entries.firstChange + Int64(start))
                var position = 3
                for index in start..<start + count {
                    statement.bind(position, entries.entities[index].name)
                    statement.bind(position + 1, entries.keys[index])
                    statement.bind(position + 2, entries.identities[index])
                    statement.bind(position + 3, entries.kinds[index].rawValue)
                    statement.bind(position + 4, entries.properties[index])
                    statement.bind(position + 5, entries.preservedValues[index])
                    position += 6
                }
                try statement.run()
                start += count
            }
        }
    }
}
