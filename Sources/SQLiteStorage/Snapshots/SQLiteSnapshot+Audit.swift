extension SQLiteSnapshot {
    func auditEntries(before id: Int64, key: String?, limit: Int) throws -> [AuditEntry] {
        let condition = key == nil ? "" : " AND idempotencyKey = ?3"
        let sql = """
            SELECT id, time, actor, action, request, idempotencyKey, result FROM _audit WHERE id < ?1\(condition) \
            ORDER BY id DESC LIMIT ?2
            """
        let bindings: [Value] = [.integer(id), .integer(Int64(limit))] + (key.map { [.text($0)] } ?? [])
        return try all(sql, bindings) { AuditEntry($0) }
    }
}
