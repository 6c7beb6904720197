import Foundation
import GRDB
import StoreSQL

/// A store's file as a migration opens it: one connection, foreign keys checked in the end.
struct MigrationFile {
    let path: String
    let queue: DatabaseQueue

    /// Opens an existing store.
    ///
    /// - Throws: ``StoreError`` where there is none.
    init(path: String, isReadOnly: Bool) throws {
        if !isReadOnly { try StoreSwap.complete(path: path) }
        guard try Store.exists(path: path) else { throw StoreError.noStore(at: path) }
        try self.init(anyFile: path, isReadOnly: isReadOnly)
    }

    init(anyFile path: String, isReadOnly: Bool = false) throws {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            if let connection = database.sqliteConnection { try SQLFunctions.install(connection) }
        }
        self.path = path
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Lets the file grow to a number of pages and no further.
    func limitSize(pageCount: Int) throws { try use { try $0.execute(sql: "PRAGMA max_page_count = \(pageCount)") } }

    /// Calls `body` outside of any transaction.
    func use<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try queue.writeWithoutTransaction(body)
    }

    /// Calls `body` in a transaction that begins with the right to write.
    func transaction<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try use { database in
            try database.execute(sql: "BEGIN IMMEDIATE")
            do {
                let result = try body(database)
                try database.execute(sql: "COMMIT")
                return result
            } catch {
                try? database.execute(sql: "ROLLBACK")
                throw error
            }
        }
    }

    /// Lets the file do without a write-ahead log, so a transaction is in the file itself when it ends.
    func leaveLog() throws {
        let mode = try use { try String.fetchOne($0, sql: "PRAGMA journal_mode = DELETE") }
        guard mode == "delete" else {
            throw StoreError(.busy, "Another process has \(path) open", remedy: "Close it, and try again")
        }
    }

    /// How the name of a copy ends that is not whole yet.
    static let copySuffix = ".copying"

    func close() throws { try queue.close() }

    /// Calls `body` and closes the file.
    func closing<Result>(_ body: (MigrationFile) throws -> Result) throws -> Result {
        defer { try? close() }
        return try body(self)
    }

    /// Reads the store's model, and checks that it is a store of this software.
    func storedModel() throws -> StoredModel {
        try queue.read { database in
            guard try database.tableExists("_metadata"),
                let format = try StoredModel.value("formatVersion", database).flatMap({ Int($0) })
            else { throw StoreError.noStore(in: path) }
            if format > Schema.formatVersion { throw StoreError.newerFormat(path, layout: format) }
            return try StoredModel(database)
        }
    }

    /// The version of the store's layout.
    func formatVersion() throws -> Int {
        try queue.read { try StoredModel.value("formatVersion", $0).flatMap { Int($0) } ?? 0 }
    }

    /// How many rows the tables of a model's hierarchies hold, by their names.
    static func rowCounts(_ model: ObjectModel, _ database: Database) throws -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for name in model.rootEntities.map(\.tableName) + model.joinTables.map(\.name) {
            counts[name] = try Int64.fetchOne(database, sql: "SELECT count(*) FROM \(SQLText.quoted(name))") ?? 0
        }
        return counts
    }

    // MARK: Lease

    /// Takes the store's lease: no worker writes meanwhile.
    func takeLease(_ model: ObjectModel, now: Int64, seconds: Double) throws -> Lease {
        try transaction { database in
            try onConnection(database, model) { store in
                try Lease.take(store, holder: .current(), ttlSeconds: seconds, now: now)
            }
        }
    }

    /// Takes the store's lease for a migration. Its holder names the epoch since which only migrations have held it. A
    /// copy that one of them began since is a copy of the present store.
    func takeMigrationLease(_ model: ObjectModel, now: Int64) throws -> Lease {
        try transaction { database in
            let row = try Row.fetchOne(database, sql: "SELECT epoch, holder FROM _lease WHERE id = 1")
            let epoch: Int64 = row?[0] ?? 0
            let since = row.flatMap { LeaseHolder(text: $0[1])?.migratingSince } ?? epoch
            return try onConnection(database, model) { store in
                try Lease.take(store, holder: .migrating(since: since), ttlSeconds: Self.leaseSeconds, now: now)
            }
        }
    }

    /// Prolongs the lease if it is still held.
    func renew(_ lease: Lease, _ model: ObjectModel, now: Int64) throws {
        try transaction { database in
            try onConnection(database, model) { store in
                try lease.check(store)
                try lease.renew(store, now: now)
            }
        }
    }

    /// Asks inside the caller's transaction whether another process writes the store; that transaction is undone.
    func probeLease(_ model: ObjectModel, now: Int64, _ database: Database) throws {
        try onConnection(database, model) { store in
            _ = try Lease.take(store, holder: .current(), ttlSeconds: Self.leaseSeconds, now: now)
        }
    }

    func release(_ lease: Lease, _ model: ObjectModel) throws {
        try transaction { database in try onConnection(database, model) { try lease.release($0) } }
    }

    func check(_ lease: Lease, _ model: ObjectModel, _ database: Database) throws {
        try onConnection(database, model) { try lease.check($0) }
    }

    /// A holder of this machine that is gone is recognised at once. This bounds the wait for one elsewhere, or from before
    /// a reboot.
    static let leaseSeconds = 600.0

    private func onConnection<Result>(
        _ database: Database, _ model: ObjectModel, _ body: (SQLiteWriterSession) throws -> Result
    ) throws -> Result {
        guard let connection = database.sqliteConnection else {
            throw StoreError.closed
        }
        let store = SQLiteWriterSession(connection, model: model)
        defer { store.releaseStatements() }
        return try body(store)
    }

    // MARK: Backup

    /// Writes a whole copy of the store beside it.
    func backUp(to backup: String) throws {
        let partial = backup + ".partial"
        // An earlier run's copy would take the room of this one.
        for path in [backup, partial] { unlink(path) }
        do {
            try copy(to: partial)
            // A copy that is cut short never has the name of a whole one.
            try DurableFile.replace(backup, with: partial)
        } catch {
            try? FileManager.default.removeItem(atPath: partial)
            throw error
        }
    }

    /// Writes the store as of one commit into a new file that only its owner reads.
    ///
    /// The empty space of the file and a writer's log have no part in it.
    func copy(to path: String) throws {
        try DurableFile.make(path)
        try use { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
    }
}

extension Lease {
    /// Lets the lease of a store that nobody writes be anybody's.
    static func expire(in database: Database) throws { try database.execute(sql: "UPDATE _lease SET expires = 0") }
}
