import Foundation
import GRDB

extension StoreDescription {
    /// Reads the description of the store at a path; nil where there is no file, or an empty one.
    ///
    /// - Throws: ``StoreError``.
    public static func read(path: String) throws(StoreError) -> StoreDescription? {
        let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue
        guard let size, size > 0 else { return nil }
        // A process that was killed while it made the file leaves a journal. Only a connection that may write undoes it.
        let isReadOnly = !FileManager.default.fileExists(atPath: path + "-journal")
        do {
            return try MigrationFile(anyFile: path, isReadOnly: isReadOnly).closing { try read($0) }
        } catch {
            throw StoreError(sqlite: error, action: "read the store at \(path)")
        }
    }

    fileprivate static func read(_ file: MigrationFile) throws -> StoreDescription? {
        try file.queue.read { database in
            guard try database.tableExists("_metadata"), try database.tableExists("_position") else { return nil }
            func value(_ key: String) throws -> String? {
                try String.fetchOne(database, sql: "SELECT value FROM _metadata WHERE key = ?", arguments: [key])
            }
            let rows = try Row.fetchAll(database, sql: "SELECT topic, partition, nextOffset, detail FROM _position")
            let cursors = try String.fetchAll(database, sql: "SELECT name FROM _cursor ORDER BY name")
            return try StoreDescription(
                positions: rows.map {
                    SourcePosition(topic: $0[0], partition: $0[1], nextOffset: $0[2], detail: $0[3])
                }, cursorNames: cursors, metadata: value)
        }
    }
}

extension StoreError {
    /// Says that a reader's open transaction keeps a store's log from being carried over.
    public static func readerInTheWay(of path: String) -> StoreError {
        StoreError(
            .busy, "A reader of \(path) keeps its log from being carried over",
            remedy: "End its transaction, and run the same command again")
    }
}

/// A store that another is about to replace: its lease is taken and its log carried over, whatever its model.
public final class RetiringStore {
    /// The store's path.
    public let path: String
    private let file: MigrationFile
    /// The file that is open, of whatever name it may be by now.
    private let opened: FileIdentity?
    /// The lease's statements are the same for every model.
    private let model: ObjectModel
    private var lease: Lease?

    /// For how long another machine waits, should this process end without giving the lease up.
    private static let leaseSeconds = 60.0

    /// Opens the store at a path.
    ///
    /// - Throws: ``StoreError``.
    public init(path: String, model: ObjectModel) throws(StoreError) {
        self.path = path
        self.model = model
        let before = FileIdentity(path)
        do { file = try MigrationFile(path: path, isReadOnly: false) } catch {
            throw StoreError(sqlite: error, action: "open the store at \(path)")
        }
        // Exchanged between the two looks, it counts as a file that has gone.
        opened = before == FileIdentity(path) ? before : nil
    }

    /// Whether the file that is open still stands at the path: it may be exchanged for another at any time.
    public var isInPlace: Bool { opened != nil && opened == FileIdentity(path) }

    /// Takes the store's lease, and returns the store's description of itself.
    ///
    /// - Throws: ``StoreError`` with code `store.leased` while another worker writes it.
    public func takeLease() throws(StoreError) -> StoreDescription {
        do {
            try claim()
            guard let description = try StoreDescription.read(file) else { throw StoreError.noStore(in: path) }
            return description
        } catch {
            throw StoreError(sqlite: error, action: "take the lease of the store at \(path)")
        }
    }

    /// Takes the lease of a store of any layout.
    ///
    /// - Throws: ``StoreError`` with code `store.leased` while another worker writes the store.
    func claim() throws(StoreError) {
        do {
            lease = try file.takeLease(model, now: WriterContext.systemTime(), seconds: Self.leaseSeconds)
        } catch {
            throw StoreError(sqlite: error, action: "take the lease of the store at \(path)")
        }
    }

    /// The number of the lease that is held.
    var epoch: Int64 { lease?.epoch ?? 0 }

    /// Tells whether the file is a store, of any layout and model.
    func isStore() throws(StoreError) -> Bool {
        do { return try file.queue.read { try $0.tableExists("_metadata") && $0.tableExists("_lease") } } catch {
            throw StoreError(sqlite: error, action: "read the store at \(path)")
        }
    }

    /// The epochs of the store's history.
    func historyEpochs() throws(StoreError) -> HistoryEpochs {
        do {
            return HistoryEpochs(text: try file.queue.read { try StoredModel.value(HistoryEpochs.metadataKey, $0) })
        } catch {
            throw StoreError(sqlite: error, action: "read the store at \(path)")
        }
    }

    /// Carries the write-ahead log over to the file, and tells whether nothing is left in it.
    ///
    /// A reader with an old snapshot keeps something in it for as long as its transaction is open.
    ///
    /// - Throws: ``StoreError``.
    public func carryLogOver() throws(StoreError) -> Bool {
        do {
            return try file.use { database in
                // The caller comes again; it has other things to do meanwhile than to wait for a reader.
                try database.execute(sql: "PRAGMA busy_timeout = 200")
                defer { try? database.execute(sql: "PRAGMA busy_timeout = 5000") }
                guard let row = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(FULL)") else { return false }
                let (busy, logged, moved): (Int, Int, Int) = (row[0], row[1], row[2])
                return busy == 0 && logged == moved
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return false
        } catch {
            throw StoreError(sqlite: error, action: "carry the log of the store at \(path) over")
        }
    }

    /// Carries the whole log over, once readers let it.
    ///
    /// - Throws: ``StoreError`` with code `store.busy` where a reader keeps a part of it for long.
    package func emptyLog() throws(StoreError) {
        for _ in 0..<50 {
            if try carryLogOver() { return }
            Thread.sleep(forTimeInterval: 0.1)
        }
        throw StoreError.readerInTheWay(of: path)
    }

    /// Lets the file do without a log, and tells whether that was possible: no other process may have it open.
    func leaveLog() -> Bool { (try? file.leaveLog()) != nil }

    /// Prolongs the lease.
    ///
    /// - Throws: ``StoreError`` with code `store.fenced` where a worker has taken it since.
    public func renewLease() throws(StoreError) {
        do {
            guard let lease else { throw StoreError.closed }
            try file.renew(lease, model, now: WriterContext.systemTime())
        } catch {
            throw StoreError(sqlite: error, action: "keep the lease of the store at \(path)")
        }
    }

    /// Gives the lease up, for the store stays in use.
    public func releaseLease() {
        if let lease { try? file.release(lease, model) }
        lease = nil
    }

    /// Closes the file; a lease that is held stays until it runs out.
    ///
    /// - Throws: ``StoreError``.
    public func close() throws(StoreError) {
        do { try file.close() } catch { throw StoreError(sqlite: error, action: "close the store at \(path)") }
    }
}
