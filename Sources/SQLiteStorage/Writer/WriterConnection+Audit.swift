import GRDBSQLite

extension WriterConnection {
    func put(_ entry: AuditEntry) throws(StoreError) -> Int64 {
        if entry.id != 0 {
            try run("UPDATE _audit SET result = ?2 WHERE id = ?1", entry.id, entry.result)
            return entry.id
        }
        try run(
            "INSERT INTO _audit (time, actor, action, request, idempotencyKey, result) VALUES (?, ?, ?, ?, ?, ?)",
            entry.time, entry.actor, entry.action, entry.request, entry.idempotencyKey, entry.result)
        return sqlite3_last_insert_rowid(connection)
    }

    func removeAuditEntries(before time: Int64, limit: Int) throws(StoreError) -> Int {
        try run(
            "DELETE FROM _audit WHERE id IN (SELECT id FROM _audit WHERE time < ? ORDER BY id LIMIT ?)", time, limit)
        return Int(changedRowCount)
    }
}
