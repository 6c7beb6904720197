// How a server that has taken over is noticed: a promoted standby, or a restored copy.
extension PostgresWriterSession {
    /// Returns the last token, and the mark of the server's data: their identity, which their creation fixed, and the
    /// timeline. Each promotion changes the timeline, and so does each recovery to a point in time.
    private static let readTokenAndMark = PostgresStatement(
        """
        SELECT token, CASE WHEN pg_is_in_recovery() THEN '' \
        ELSE (SELECT system_identifier FROM pg_control_system())::text || '/' \
        || ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int8::text END \
        FROM _token WHERE id = 1
        """)
    /// For servers that do not tell; they have one mark.
    private static let readTokenAlone = PostgresStatement("SELECT token, ''::text FROM _token WHERE id = 1")

    /// Returns the statement that reads the last token and the server's mark in each transaction. A pooler may change
    /// servers between two transactions, so a new connection is not enough of a sign.
    static func tokenStatement(_ connection: PostgresConnection) throws(StoreError) -> PostgresStatement {
        do throws(StoreError) {
            try connection.run(readTokenAndMark, "ask the server for its timeline")
            return readTokenAndMark
        } catch {
            if error.code == .disconnected { throw error }
            return readTokenAlone
        }
    }

    /// Whether a draft would be committed on another server than the one that it has read.
    func isTakenOver(_ mark: String) throws(StoreError) -> Bool {
        if let comparedServer { return mark != comparedServer }
        return try compare(server: mark)
    }

    /// Compares the server's mark with the one that the store has noted. Where they differ, the open transaction begins an
    /// epoch: the store's next tokens may have been given out before.
    ///
    /// - Returns: whether an epoch begins.
    @discardableResult
    func compare(server mark: String) throws(StoreError) -> Bool {
        if mark == comparedServer || mark.isEmpty { return false }
        let query = PostgresStatement(
            """
            SELECT (SELECT value FROM _metadata WHERE key = 'server'), \
            (SELECT value FROM _metadata WHERE key = '\(HistoryEpochs.metadataKey)'), token, "deadLetter" \
            FROM _token WHERE id = 1
            """)
        guard let row = try connection.run(query, "compare the server").first else { return false }
        let stored = row.optionalText(0)
        comparedServer = mark
        if stored == mark { return false }
        connection.enqueue(.putMetadata([(key: "server", value: mark)]))
        if stored == nil { return false }
        var epochs = HistoryEpochs(text: row.optionalText(1))
        let timeline = mark.split(separator: "/").last.flatMap { Int64($0) } ?? 0
        epochs.fork(minimum: timeline, lastToken: row.integer(2), lastDeadLetter: row.integer(3))
        connection.enqueue(
            .putMetadata([
                (key: HistoryEpochs.metadataKey, value: epochs.text), (key: "epoch", value: "\(epochs.current)"),
            ]))
        return true
    }
}
