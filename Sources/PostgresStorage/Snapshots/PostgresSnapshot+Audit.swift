extension PostgresSnapshot {
    func auditEntries(before id: Int64, key: String?, limit: Int) throws -> [AuditEntry] {
        var query = PostgresQuery()
        query.add("id <", id)
        query.add("\"idempotencyKey\" =", key)
        let count = query.parameter(Int64(limit))
        return try all(
            query,
            """
            SELECT id, time, actor, action, request, "idempotencyKey", result FROM _audit WHERE \(query.condition) \
            ORDER BY id DESC LIMIT \(count)
            """
        ) { AuditEntry($0) }
    }
}
