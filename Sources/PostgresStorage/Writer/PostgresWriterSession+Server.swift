// How a server that has taken over is noticed: a promoted standby, or a restored copy.
extension PostgresWriterSession {
    /// The mark of the server's data: their identity, which their creation fixed, and the timeline. Each promotion changes
    /// the timeline, and so does each recovery to a point in time.
    private static let timelineMark = """
        CASE WHEN pg_is_in_recovery() THEN '' ELSE (SELECT system_identifier FROM pg_control_system())::text || '/' \
        || ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int8::text END
        """

    /// Returns the expression of the server's mark, which each transaction reads. A pooler may change servers between two
    /// transactions, so a new connection is not enough of a sign. Servers that do not tell have one mark.
    static func mark(_ connection: PostgresConnection) throws(StoreError) -> String {
        do throws(StoreError) {
            try connection.run(PostgresStatement("SELECT \(timelineMark)"), "ask the server for its timeline")
            return timelineMark
        } catch {
            if error.code == .disconnected { throw error }
            return "''::text"
        }
    }

    /// The statement that returns the last token and the server's mark.
    var readToken: PostgresStatement { PostgresStatement("SELECT token, \(serverMark) FROM _token WHERE id = 1") }

    /// Compares the server's mark with the one that the store has noted. Where they differ, the open transaction begins an
    /// epoch. The store may give out tokens again, and keys that this writer has reserved.
    func compare(server mark: String) throws(StoreError) {
        if mark == comparedServer { return }
        // The context continues the counters of the former server.
        if comparedServer != nil { throw Self.takenOver }
        if mark.isEmpty { return comparedServer = mark }
        let query = PostgresStatement(
            """
            SELECT (SELECT value FROM _metadata WHERE key = 'server'), \
            (SELECT value FROM _metadata WHERE key = '\(HistoryEpochs.metadataKey)'), token, "deadLetter" \
            FROM _token WHERE id = 1
            """)
        guard let row = try connection.run(query, "compare the server").first else { return }
        let stored = row.optionalText(0)
        comparedServer = mark
        if stored == mark { return }
        connection.enqueue(.putMetadata([(key: "server", value: mark)]))
        if stored == nil { return }
        var epochs = HistoryEpochs(text: row.optionalText(1))
        let timeline = mark.split(separator: "/").last.flatMap { Int64($0) } ?? 0
        epochs.fork(minimum: timeline, lastToken: row.integer(2), lastDeadLetter: row.integer(3))
        connection.enqueue(.putMetadata(epochs.metadata))
        if share?.faults.contains(.keepsKeys) != true { share?.keys = [:] }
    }
}
