import Foundation
import Synchronization

/// The place where a store of plain tables lies in memory. Several storages may open it, as processes open a file or the
/// schema of a server.
package final class MemoryPlace: Sendable {
    let model: ObjectModel
    /// Whether several writers write the store in turns, as in a server.
    let sharesWriters: Bool
    /// The time by which roles end, in microseconds since 1970 UTC.
    let now: @Sendable () -> Int64
    let state: Mutex<State>

    struct State {
        var tables: MemoryTables
        /// The number of the last claim.
        var epoch: Int64 = 0
        /// The end of the last claim, in microseconds since 1970 UTC.
        var claimedUntil: Int64 = 0
        /// The storage whose transaction is open.
        var transaction: ObjectIdentifier?
        /// The number of the last claim of each partition.
        var fences: [StorePartition: Int64] = [:]
        var roles: [String: Role] = [:]
    }

    struct Role {
        var epoch: Int64
        var holder: Int64
        var until: Int64
    }

    /// Makes a place with a store without content.
    ///
    /// - Parameter identity: the store's own identity.
    package init(
        model: ObjectModel, identity: String = UUID().uuidString.lowercased(), sharesWriters: Bool = false,
        now: @escaping @Sendable () -> Int64 = WriterContext.systemTime
    ) {
        self.model = model
        self.sharesWriters = sharesWriters
        self.now = now
        var tables = MemoryTables(model)
        tables.storeID = identity
        state = Mutex(State(tables: tables))
    }
}

/// A call that reaches the place of a store.
package enum MemoryCall: Sendable {
    case read, claim, begin
    /// Before a commit has its effect, and after it: an error of the latter is an answer that was lost.
    case commit, committed
}

/// A store of plain tables in memory, for tests.
///
/// A commit replaces the tables as a whole, so a snapshot is a copy that costs nothing until the next change. A change
/// after it copies the tables: the cost of a commit grows with the store.
package final class MemoryStorage: Storage {
    let place: MemoryPlace
    var model: ObjectModel { place.model }
    package let path = "memory"
    package var size: StoreSize? { nil }
    private let onCall: @Sendable (MemoryCall) throws(StoreError) -> Void
    private let isClosed = Atomic<Bool>(false)

    /// Opens a store.
    ///
    /// - Parameter onCall: called with each call before the place gets it; lets it fail by throwing.
    package init(
        _ place: MemoryPlace, onCall: @escaping @Sendable (MemoryCall) throws(StoreError) -> Void = { _ in }
    ) {
        self.place = place
        self.onCall = onCall
    }

    // MARK: Reading

    package func read<Result>(
        _ interruption: ReadInterruption?, _ body: (any SnapshotSession, FetchRequestCache?) throws -> Result
    ) throws -> Result {
        try interruption?.check()
        return try body(MemorySnapshot(try tables(), model: model), nil)
    }

    package func makeRowReader() throws(StoreError) -> any RowReader { Reader(self) }

    /// Reads the tables of the last commit.
    private final class Reader: RowReader {
        private let storage: MemoryStorage

        init(_ storage: MemoryStorage) { self.storage = storage }

        func load(
            _ plan: [ReadRequest], in arena: ValueArena, each: (Int, ReadAnswer) -> Void
        ) throws(StoreError) {
            try storage.tables().answer(plan, storage.model, in: arena, each: each)
        }
    }

    /// Returns the tables of the last commit.
    func tables() throws(StoreError) -> MemoryTables {
        if isClosed.load(ordering: .acquiring) { throw StoreError.closed }
        try onCall(.read)
        return place.state.withLock { $0.tables }
    }

    // MARK: Writing

    package func makeWriterSession() throws(StoreError) -> any WriterSession {
        if place.state.withLock({ $0.transaction != nil }) { throw Self.leased }
        return try MemoryWriterSession(self)
    }

    /// Makes the caller the only writer, or one of several, and returns the number of its claim.
    ///
    /// - Throws: ``StoreError`` with code `store.leased` before the end of another claim.
    func claim(until end: Int64, now: Int64) throws(StoreError) -> Int64 {
        try onCall(.claim)
        let epoch: Int64? = place.state.withLock { state in
            if !place.sharesWriters, state.claimedUntil > now { return nil }
            state.epoch += 1
            state.claimedUntil = end
            return state.epoch
        }
        if let epoch { return epoch }
        throw Self.leased
    }

    func renewClaim(_ epoch: Int64, until end: Int64) {
        place.state.withLock { if $0.epoch == epoch { $0.claimedUntil = end } }
    }

    private func isHolder(_ epoch: Int64, _ state: MemoryPlace.State) -> Bool {
        place.sharesWriters || state.epoch == epoch
    }

    /// Begins a transaction of a claim's holder, and returns the tables of the last commit.
    ///
    /// - Throws: ``StoreError`` with code `store.fenced` after a later claim.
    func begin(_ epoch: Int64) throws(StoreError) -> MemoryTables {
        try onCall(.begin)
        let tables = try tables()
        let begins = place.state.withLock { state in
            if !isHolder(epoch, state) { return false }
            state.transaction = ObjectIdentifier(self)
            return true
        }
        if begins { return tables }
        throw Self.fenced
    }

    /// Ends a transaction: its tables are the store's.
    ///
    /// - Throws: as ``begin(_:)``.
    func commit(_ tables: MemoryTables, of epoch: Int64) throws(StoreError) {
        do throws(StoreError) { try onCall(.commit) } catch {
            rollback()
            throw error
        }
        let ends = place.state.withLock { state in
            state.transaction = nil
            if !isHolder(epoch, state) { return false }
            state.tables = tables
            return true
        }
        if !ends { throw Self.fenced }
        try onCall(.committed)
    }

    /// Undoes the open transaction of this storage; also where its process has ended.
    package func rollback() {
        place.state.withLock { if $0.transaction == ObjectIdentifier(self) { $0.transaction = nil } }
    }

    // MARK: Several writers

    func claimPartitions(_ partitions: [StorePartition]) throws(StoreError) -> [StorePartition: Int64] {
        try onCall(.claim)
        return place.state.withLock { state in
            for partition in partitions { state.fences[partition, default: 0] += 1 }
            return state.fences.filter { partitions.contains($0.key) }
        }
    }

    /// Whether nobody has claimed the partition since.
    func holds(_ fence: Int64, of partition: StorePartition) -> Bool {
        place.state.withLock { $0.fences[partition] == fence }
    }

    func holdRole(_ name: String, holder: Int64, seconds: Double) throws(StoreError) -> Int64? {
        try onCall(.claim)
        let now = place.now()
        return place.state.withLock { state in
            let known = state.roles[name]
            if let known, known.holder != holder, known.until >= now { return nil }
            let epoch = known?.holder == holder ? known?.epoch ?? 0 : (known?.epoch ?? 0) + 1
            state.roles[name] = MemoryPlace.Role(
                epoch: epoch, holder: holder, until: now + Int64(seconds * 1_000_000))
            return epoch
        }
    }

    func leaveRoles(_ holder: Int64) {
        place.state.withLock { state in
            for (name, role) in state.roles where role.holder == holder { state.roles[name]?.until = 0 }
        }
    }

    private static let leased = StoreError(
        .leased, "This process has a writer of the store already", remedy: "Share that one, or close it first")

    private static let fenced = StoreError(
        .fenced, "Another writer context has taken this store over", remedy: "Nothing was written; stop this one")

    // MARK: Soundness

    package var needsVerification: Bool { false }

    package func note(_ error: StoreError) {}

    package func noteSound() {}

    package func close() throws(StoreError) { isClosed.store(true, ordering: .releasing) }
}

extension Store {
    /// Makes a store of plain tables in memory, for tests.
    ///
    /// It has the objects, rules, history and snapshots of any other store. It has no file, and no verification or repair.
    /// A commit takes time in proportion to the whole content: beyond some ten thousand objects use
    /// `Store.inMemory(model:)`.
    package static func inMemoryTables(model: ObjectModel) -> Store {
        Store(MemoryStorage(MemoryPlace(model: model)), model: model)
    }
}
