extension PostgresWriterSession {
    func put(_ entry: AuditEntry) throws(StoreError) -> Int64 {
        if entry.id != 0 {
            var update = PostgresStatement("UPDATE _audit SET result = $2::text WHERE id = $1::int8")
            update.bind(entry.id, entry.result)
            enqueue(update)
            return entry.id
        }
        var insertion = PostgresStatement(
            """
            INSERT INTO _audit (id, time, actor, action, request, "idempotencyKey", result) \
            SELECT coalesce(max(id), 0) + 1, $1::int8, $2::text, $3::text, $4::text, $5::text, $6::text FROM _audit \
            RETURNING id
            """)
        insertion.bind(entry.time, entry.actor, entry.action, entry.request, entry.idempotencyKey, entry.result)
        return try connection.run(insertion, "save an audit entry").first?.integer(0) ?? 0
    }

    func removeAuditEntries(before time: Int64, limit: Int) throws(StoreError) -> Int {
        var removal = PostgresStatement(
            "DELETE FROM _audit WHERE id IN (SELECT id FROM _audit WHERE time < $1::int8 ORDER BY id LIMIT $2::int8)")
        removal.bind(time, Int64(limit))
        return try connection.run(removal, "remove audit entries").changedRowCount
    }
}
