/// The right to write a store as a transaction finds it that locks its row.
struct FoundLease {
    /// The number of the last claim.
    let epoch: Int64
    /// The number of the table that has the row: another one after the schema was dropped or exchanged.
    let table: Int64
    /// The writer that lives and has the store, or one of several; nil where nobody does.
    let holder: String?

    /// The expression of the number of the table.
    static let table = "tableoid::int8"

    static let missing = StoreError(.corrupt, "The store has no row for its writer", remedy: "Restore a copy")

    /// The condition that the connection which a row of the table `alias` names is there. Behind a pooler nothing tells;
    /// such a row holds for its time.
    static func isAlive(_ alias: String) -> String {
        """
        (\(alias).backend = 0 OR EXISTS (SELECT 1 FROM pg_stat_activity a WHERE a.pid = \(alias).backend \
        AND (a.backend_start IS NULL OR a.backend_start = \(alias).started)))
        """
    }

    /// The server's time in microseconds since 1970 UTC.
    static let serverTime = "(extract(epoch FROM clock_timestamp()) * 1000000)::int8"

    /// Locks the row up to the end of the transaction.
    ///
    /// - Parameter now: the time by which a claim has run out, in microseconds since 1970 UTC; nil is the server's time.
    /// - Throws: ``StoreError``; `store.corrupt` where there is no row.
    init(_ connection: PostgresConnection, now: Int64? = nil, _ action: String) throws(StoreError) {
        let time = now == nil ? Self.serverTime : "$1::int8"
        // A holder whose connection has ended is gone, however long its claim would hold.
        var query = PostgresStatement(
            """
            SELECT l.epoch, l.\(Self.table), coalesce(CASE WHEN l.expires > \(time) AND \(Self.isAlive("l")) \
            AND (l.backend = \(connection.backend) AND l.backend <> 0) IS NOT TRUE THEN l.holder END, \
            (SELECT min(w.holder) FROM _writer w WHERE w.expires > \(time) AND \(Self.isAlive("w")))) \
            FROM _lease l WHERE l.id = 1 FOR UPDATE OF l
            """)
        if let now { query.bind(now) }
        guard let row = try connection.run(query, action).first else { throw Self.missing }
        (epoch, table, holder) = (row.integer(0), row.integer(1), row.optionalText(2))
    }
}
