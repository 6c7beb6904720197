extension PostgresWriterSession {
    func put(_ entry: AuditEntry) throws(StoreError) -> Int64 {
        if entry.id != 0 {
            var update = PostgresStatement("UPDATE _audit SET result = $2::text WHERE id = $1::int8")
            update.bind(entry.id)
            update.bind(entry.result)
            enqueue(update)
            return entry.id
        }
        var insertion = PostgresStatement(
            """
            INSERT INTO _audit (id, time, actor, action, request, "idempotencyKey", result) \
            SELECT coalesce(max(id), 0) + 1, $1::int8, $2::text, $3::text, $4::text, $5::text, $6::text FROM _audit \
            RETURNING id
            """)
        insertion.bind(entry.time)
        insertion.bind(entry.actor)
        insertion.bind(entry.action)
        insertion.bind(entry.request)
        insertion.bind(entry.idempotencyKey)
        insertion.bind(entry.result)
        return try connection.run(insertion, "save an audit entry").first?.integer(0) ?? 0
    }
}
