import GRDBSQLite

extension WriterConnection {
    func put(_ entry: AuditEntry) throws(StoreError) -> Int64 {
        if entry.id != 0 {
            let update = try statement("UPDATE _audit SET result = ?2 WHERE id = ?1")
            update.bind(1, entry.id)
            update.bind(2, entry.result)
            try update.run()
            return entry.id
        }
        let insertion = try statement(
            "INSERT INTO _audit (time, actor, action, request, idempotencyKey, result) VALUES (?, ?, ?, ?, ?, ?)")
        insertion.bind(1, entry.time)
        insertion.bind(2, entry.actor)
        insertion.bind(3, entry.action)
        insertion.bind(4, entry.request)
        insertion.bind(5, entry.idempotencyKey)
        insertion.bind(6, entry.result)
        try insertion.run()
        return sqlite3_last_insert_rowid(connection)
    }

    func removeAuditEntries(before time: Int64, limit: Int) throws(StoreError) -> Int {
        let removal = try statement(
            "DELETE FROM _audit WHERE id IN (SELECT id FROM _audit WHERE time < ? ORDER BY id LIMIT ?)")
        removal.bind(1, time)
        removal.bind(2, limit)
        try removal.run()
        return Int(changedRowCount)
    }
}
