import CPostgres
import StoreSQL

/// A connection to a server, which runs lists of statements in one round trip each.
///
/// One thread at a time uses it. Statements without results may wait for the next round trip: ``enqueue(_:)``.
final class PostgresConnection {
    /// The use of a connection. It decides how the server plans the statements.
    enum Role {
        /// Statements on lists of keys: an index is always right, however old the server's statistics are.
        case writer
        case reader
    }

    /// Looks at a result once its round trip has ended.
    typealias ResultCheck = (PostgresResult) throws(StoreError) -> Void

    private let connection: OpaquePointer
    /// The names of the prepared statements, by their text.
    private var names: [String: String] = [:]
    /// The names of the statements whose preparation is under way.
    private var pendingNames: [String: String] = [:]
    private var preparedCount = 0
    /// The number of prepared statements above which the connection forgets them all. The texts depend on what chunks
    /// change, and each takes memory of the server.
    static let maximumPreparedCount = 500
    /// Statements that go out with the next round trip, with what looks at their results.
    private(set) var waiting: [(statement: PostgresStatement, check: ResultCheck?)] = []
    /// Called after each round trip.
    var onProgress: (() -> Void)?
    /// The number of round trips so far.
    private(set) var roundTripCount = 0
    /// The number of rows that the server has sent so far.
    private(set) var rowCount = 0
    /// The greatest number of rows that the results of a round trip held.
    private(set) var greatestHeldRowCount = 0
    /// Whether a pooler such as pgbouncer stands before the server, until the server's answer tells. A pooler may give each
    /// transaction another session, so statements have no names and each transaction makes its settings again.
    private(set) var isPooled = true
    /// Whether dead letters are known to have a column for the timestamps of their records. A column that is there stays.
    var knowsDeadLetterTimestamps = false
    private var settings: [String: String]

    /// Connects to a server.
    ///
    /// - Parameter lockTimeoutMilliseconds: for how long a statement waits for rows that another connection holds.
    /// - Throws: ``StoreError`` with code `store.unavailable` where there is no such server, database or user.
    init(_ address: ConnectionAddress, _ role: Role, lockTimeoutMilliseconds: Int) throws(StoreError) {
        let parameters = [
            ("dbname", address.url), ("client_encoding", "UTF8"), ("fallback_application_name", "ingest"),
        ]
        guard let connection = Self.open(Self.limits + parameters) else {
            throw StoreError(
                .unavailable, "There is no memory for a connection",
                remedy: "Give the process more memory, or end others")
        }
        guard PQstatus(connection) == CONNECTION_OK, PQenterPipelineMode(connection) == 1 else {
            // A question of libpq to the user follows on an indented line of its own.
            let reason = String(cString: PQerrorMessage(connection)).split(separator: "\n")
                .filter { !$0.hasPrefix("\t") }.joined(separator: " ")
            PQfinish(connection)
            throw StoreError(
                .unavailable, "Could not connect to \(address): \(reason)",
                remedy: Self.remedy(reason))
        }
        self.connection = connection
        self.settings = Self.settings(address, role, lockTimeoutMilliseconds)
        // Notices are for people at a terminal.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        // A pooler gives its clients process numbers of its own.
        let process = try run(PostgresStatement("SELECT pg_backend_pid()::int8"), "connect").first?.integer(0)
        isPooled = process != Int64(PQbackendPID(connection))
        if !isPooled { try run([setting(settings)]) }
    }

    deinit { PQfinish(connection) }

    /// Returns a way to end the statement that runs, from another thread; nil of a lost connection.
    func cancellation() -> PostgresCancellation? { PostgresCancellation(connection) }

    /// The connection itself, for COPY.
    var pointer: OpaquePointer { connection }

    /// For how long a host may be silent. The system's own limits are hours. They stand before the URL, which may have others.
    private static let limits = [
        ("connect_timeout", "10"), ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "30000"),
    ]

    private static func open(_ parameters: [(String, String)]) -> OpaquePointer? {
        let texts = parameters.map { (Array($0.0.utf8CString), Array($0.1.utf8CString)) }
        func pointers(_ list: [[CChar]], _ body: ([UnsafePointer<CChar>?]) -> OpaquePointer?) -> OpaquePointer? {
            var all: [CChar] = []
            var starts: [Int] = []
            for text in list {
                starts.append(all.count)
                all += text
            }
            return all.withUnsafeBufferPointer { buffer in
                body(starts.map { start in buffer.baseAddress.map { $0 + start } } + [nil])
            }
        }
        return pointers(texts.map(\.0)) { names in
            pointers(texts.map(\.1)) { values in PQconnectdbParams(names, values, 1) }
        }
    }

    /// Returns the remedy for a failure to connect, by libpq's words for it.
    private static func remedy(_ reason: String) -> String {
        if ["certificate", "private key", "SSL", "no encryption"].contains(where: { reason.contains($0) }) {
            return
                "Check the names and the last day of the server's certificate, and sslmode, sslrootcert, sslcert and "
                + "sslkey of the URL"
        }
        if reason.contains("too many c") || reason.contains("connection slots") {
            return "Raise max_connections or the role's CONNECTION LIMIT, or end other programs"
        }
        return "Check that the server runs, and the URL with its user and password"
    }

    private static func settings(
        _ address: ConnectionAddress, _ role: Role, _ lockTimeoutMilliseconds: Int
    ) -> [String: String] {
        var settings = [
            "search_path": SQLText.quoted(address.schema), "lock_timeout": "\(lockTimeoutMilliseconds)",
            "jit": "off",
            // The server's own limits are hours too, and it may hold the store's lock for a client that is gone.
            "tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
        ]
        if role == .writer {
            settings["plan_cache_mode"] = "force_generic_plan"
            for name in ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"] { settings[name] = "off" }
        }
        return settings
    }

    /// A statement that makes settings: for the session, and behind a pooler for the transaction.
    private func setting(_ values: [String: String]) -> PostgresStatement {
        var statement = PostgresStatement(
            """
            SELECT set_config(name, value, \(isPooled)) FROM unnest($1::text[], $2::text[]) AS s(name, value)
            """)
        statement.bind(Array(values.keys), Array(values.values))
        return statement
    }

    /// Sets a parameter of the server for all transactions that begin afterwards.
    func set(_ name: String, to value: String) {
        settings[name] = value
        if !isPooled { enqueue(setting([name: value])) }
    }

    /// The number of the server's process in SQL; 0 behind a pooler, where it says nothing of this client.
    var backend: String { isPooled ? "0" : "pg_backend_pid()" }

    /// When the server's process began, in SQL.
    var backendStart: String {
        isPooled ? "NULL" : "(SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())"
    }

    /// Whether the connection is lost.
    var isLost: Bool { isAdrift || PQstatus(connection) == CONNECTION_BAD }

    /// Whether nobody knows what the server will send next: libpq may still take the connection for a good one.
    var isAdrift = false

    // MARK: Statements

    /// Lets a statement go out with the next round trip, which throws where the statement fails, or its check.
    func enqueue(_ statement: PostgresStatement, check: ResultCheck? = nil) { waiting.append((statement, check)) }

    /// Sends the statements that wait where one of them has a check: what follows is to know of its failure.
    func settle(_ action: String) throws(StoreError) {
        if waiting.contains(where: { $0.check != nil }) { try run([], action) }
    }

    /// Forgets the statements that wait, from a number on.
    func forget(from count: Int = 0) { waiting.removeSubrange(count...) }

    /// Runs the statements that wait and then others, in one round trip, and returns the results of the others.
    ///
    /// The first that fails ends the rest. A transaction stays open, and the caller undoes it or a part of it.
    @discardableResult
    func run(_ statements: [PostgresStatement], _ action: String = "run a statement") throws(StoreError)
        -> [PostgresResult]
    {
        try run(statements, action, isStreamed: false) { _ in }
    }

    /// Runs the statements that wait and then another one, whose rows `each` takes as they arrive. None of them is held.
    ///
    /// - Parameter each: may not use the connection.
    func stream(_ statement: PostgresStatement, _ action: String, each: (PostgresRow) -> Void) throws(StoreError) {
        _ = try run([statement], action, isStreamed: true, each)
    }

    private func run(
        _ statements: [PostgresStatement], _ action: String, isStreamed: Bool, _ each: (PostgresRow) -> Void
    ) throws(StoreError) -> [PostgresResult] {
        let before = waiting
        var all = before.map(\.statement) + statements
        waiting = []
        roundTripCount += 1
        if isLost { throw .disconnected(action) }
        var (trip, number) = (RoundTrip(action: action), 0)
        let isIdle = PQtransactionStatus(connection) == PQTRANS_IDLE
        if isPooled, isIdle, !all.isEmpty {
            let place = Self.placeBehindBegin(all)
            all.insert(setting(settings), at: place)
            trip.own[place] = .some(nil)
        }
        let release = isIdle && names.count > Self.maximumPreparedCount ? Self.placeBehindBegin(all) : nil
        for (place, statement) in all.enumerated() {
            if place == release {
                trip.own[number] = .some(nil)
                try releasePrepared(action)
                number += 1
            }
            if !isPooled, names[statement.sql] == nil, pendingNames[statement.sql] == nil {
                trip.own[number] = statement.sql
                try prepare(statement.sql, action)
                number += 1
            }
            try send(statement, action)
            trip.refusals[number] = statement.refusal
            number += 1
        }
        guard PQpipelineSync(connection) == 1 else { throw giveUp(action) }
        if isStreamed { trip.streamed = number - 1 }
        let results = try results(of: &trip, each)
        onProgress?()
        for (entry, result) in zip(before, results) { try entry.check?(result) }
        return Array(results.suffix(statements.count))
    }

    /// Runs one statement.
    @discardableResult
    func run(_ statement: PostgresStatement, _ action: String = "run a statement") throws(StoreError) -> PostgresResult
    {
        guard let result = try run([statement], action).last else { throw .disconnected(action) }
        return result
    }

    /// Undoes the open transaction. The end of a connection undoes it too, so a connection that cannot undo it is given up.
    func rollback() throws(StoreError) {
        if isLost { return }
        do {
            try run(PostgresStatement("ROLLBACK"), "undo the transaction")
        } catch {
            isAdrift = true
            throw error
        }
    }

    /// Undoes the open transaction after a failure, which the caller reports.
    func undo() {
        forget()
        try? rollback()
    }

    /// The place of the connection's own statements: behind the one that opens a transaction. That one sets the isolation,
    /// and has to be the first.
    private static func placeBehindBegin(_ statements: [PostgresStatement]) -> Int {
        statements.first?.opensTransaction == true ? 1 : 0
    }

    private func releasePrepared(_ action: String) throws(StoreError) {
        (names, pendingNames) = ([:], [:])
        guard PQsendQueryParams(connection, "DEALLOCATE ALL", 0, nil, nil, nil, nil, 1) == 1 else {
            throw giveUp(action)
        }
    }

    private func prepare(_ sql: String, _ action: String) throws(StoreError) {
        let name = "s\(preparedCount)"
        preparedCount += 1
        pendingNames[sql] = name
        if PQsendPrepare(connection, name, sql, 0, nil) != 1 { throw giveUp(action) }
    }

    private func send(_ statement: PostgresStatement, _ action: String) throws(StoreError) {
        let name = names[statement.sql] ?? pendingNames[statement.sql] ?? ""
        let count = statement.places.count
        let lengths = statement.places.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: count)
        let sent = statement.bytes.withUnsafeBytes { bytes in
            let values = statement.places.map { place in
                place.flatMap { place in
                    bytes.baseAddress.map { ($0 + place.lowerBound).assumingMemoryBound(to: CChar.self) }
                }
            }
            if isPooled {
                return PQsendQueryParams(connection, statement.sql, Int32(count), nil, values, lengths, formats, 1)
            }
            return PQsendQueryPrepared(connection, name, Int32(count), values, lengths, formats, 1)
        }
        if sent != 1 { throw giveUp(action) }
    }

    /// A round trip whose results are read.
    private struct RoundTrip {
        let action: String
        /// The connection's own statements by their numbers: the text of a prepared one, nil for another.
        var own: [Int: String?] = [:]
        var refusals: [Int: StoreError] = [:]
        /// The number of the statement whose rows are taken one by one.
        var streamed: Int?
        /// The number of the statement whose results come.
        var number = 0
        var results: [PostgresResult] = []
        var heldCount = 0
        var failure: StoreError?
    }

    /// Reads the results up to the end of the round trip, without the results of the connection's own statements.
    private func results(
        of trip: inout RoundTrip, _ each: (PostgresRow) -> Void
    ) throws(StoreError) -> [PostgresResult] {
        var awaited = trip.streamed
        // One null ends the results of a statement. A second one says that no more will come.
        var isAtEnd = false
        defer {
            pendingNames = [:]
            greatestHeldRowCount = max(greatestHeldRowCount, trip.heldCount)
        }
        while true {
            // libpq takes this mode for a statement once the one before it has ended.
            if awaited == trip.number {
                PQsetSingleRowMode(connection)
                awaited = nil
            }
            guard let result = nextResult() else {
                isAdrift = isAdrift || isAtEnd
                if isLost { throw trip.failure ?? .disconnected(trip.action) }
                isAtEnd = true
                trip.number += 1
                continue
            }
            isAtEnd = false
            if PQresultStatus(result) == PGRES_PIPELINE_SYNC {
                PQclear(result)
                if let failure = trip.failure { throw failure }
                return trip.results
            }
            take(result, in: &trip, each)
        }
    }

    private func take(_ result: OpaquePointer, in trip: inout RoundTrip, _ each: (PostgresRow) -> Void) {
        func take(_ result: PostgresResult) {
            rowCount += result.count
            if trip.streamed != trip.number { return trip.heldCount += result.count }
            for row in result.rows { each(row) }
        }
        switch PQresultStatus(result) {
        case PGRES_SINGLE_TUPLE: take(PostgresResult(result))
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
            if let sql = trip.own[trip.number] {
                if let sql { names[sql] = pendingNames[sql] }
                PQclear(result)
            } else {
                let held = PostgresResult(result)
                trip.results.append(held)
                take(held)
            }
        case PGRES_PIPELINE_ABORTED: PQclear(result)
        default:
            trip.failure = trip.failure ?? failure(result, trip.action, refusal: trip.refusals[trip.number])
            PQclear(result)
        }
    }
}
