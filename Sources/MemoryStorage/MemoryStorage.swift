import Foundation
import Synchronization

/// A store of plain tables in memory, for tests and for small embedded use.
///
/// A commit replaces the tables as a whole, so a snapshot is a copy that costs nothing until the next change. A change
/// after it copies the tables: the cost of a commit grows with the store.
final class MemoryStorage: Storage {
    let model: ObjectModel
    let path = "memory"
    var size: StoreSize? { nil }
    private let state: Mutex<State>

    private struct State {
        var tables: MemoryTables
        var isClosed = false
        /// The number of the last claim.
        var epoch: Int64 = 0
        /// The end of the last claim, in microseconds since 1970 UTC.
        var claimedUntil: Int64 = 0
        var isInTransaction = false
    }

    init(model: ObjectModel) {
        self.model = model
        var tables = MemoryTables(model)
        tables.storeID = UUID().uuidString.lowercased()
        state = Mutex(State(tables: tables))
    }

    // MARK: Reading

    func read<Result>(
        _ interruption: ReadInterruption?, _ body: (any SnapshotSession, FetchRequestCache?) throws -> Result
    ) throws -> Result {
        try interruption?.check()
        return try body(MemorySnapshot(try tables(), model: model), nil)
    }

    func makeRowReader() throws(StoreError) -> any RowReader { Reader(self) }

    /// Reads the tables of the last commit.
    private final class Reader: RowReader {
        private let storage: MemoryStorage

        init(_ storage: MemoryStorage) { self.storage = storage }

        func load(_ plan: [ReadRequest], each: (Int, ReadAnswer) -> Void) throws(StoreError) {
            try storage.tables().answer(plan, storage.model, each: each)
        }
    }

    /// Returns the tables of the last commit.
    func tables() throws(StoreError) -> MemoryTables {
        let tables = state.withLock { $0.isClosed ? nil : $0.tables }
        guard let tables else { throw StoreError.closed }
        return tables
    }

    // MARK: Writing

    func makeWriterSession() throws(StoreError) -> any WriterSession {
        if state.withLock(\.isInTransaction) { throw Self.leased }
        return try MemoryWriterSession(self)
    }

    /// Makes the caller the only writer, and returns the number of its claim.
    ///
    /// - Throws: ``StoreError`` with code `store.leased` before the end of another claim.
    func claim(until end: Int64, now: Int64) throws(StoreError) -> Int64 {
        let epoch: Int64? = state.withLock { state in
            if state.claimedUntil > now { return nil }
            state.epoch += 1
            state.claimedUntil = end
            return state.epoch
        }
        if let epoch { return epoch }
        throw Self.leased
    }

    func renewClaim(_ epoch: Int64, until end: Int64) {
        state.withLock { if $0.epoch == epoch { $0.claimedUntil = end } }
    }

    /// Begins a transaction of a claim's holder, and returns the tables of the last commit.
    ///
    /// - Throws: ``StoreError`` with code `store.fenced` after a later claim.
    func begin(_ epoch: Int64) throws(StoreError) -> MemoryTables {
        let tables = try tables()
        let isHolder = state.withLock { state in
            state.isInTransaction = state.epoch == epoch
            return state.isInTransaction
        }
        if isHolder { return tables }
        throw Self.fenced
    }

    /// Ends a transaction: its tables are the store's.
    ///
    /// - Throws: as ``begin(_:)``.
    func commit(_ tables: MemoryTables, of epoch: Int64) throws(StoreError) {
        let isHolder = state.withLock { state in
            if state.epoch == epoch { state.tables = tables }
            state.isInTransaction = false
            return state.epoch == epoch
        }
        if !isHolder { throw Self.fenced }
    }

    func rollback() { state.withLock { $0.isInTransaction = false } }

    private static let leased = StoreError(
        .leased, "This process has a writer of the store already", remedy: "Share that one, or close it first")

    private static let fenced = StoreError(
        .fenced, "Another writer context has taken this store over", remedy: "Nothing was written; stop this one")

    // MARK: Soundness

    var needsVerification: Bool { false }

    func note(_ error: StoreError) {}

    func noteSound() {}

    func close() throws(StoreError) { state.withLock { $0.isClosed = true } }
}

extension Store {
    /// Makes a store of plain tables in memory, for tests and for small embedded use.
    ///
    /// It has the objects, rules, history and snapshots of any other store. It has no file, and no verification or repair.
    /// A commit takes time in proportion to the whole content: beyond some ten thousand objects use
    /// `Store.inMemory(model:)`.
    public static func inMemoryTables(model: ObjectModel) -> Store { Store(MemoryStorage(model: model), model: model) }
}
