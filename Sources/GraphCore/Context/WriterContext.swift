import Foundation

/// The private context that writes a store: applies events in chunks, saves each with its history, then forgets it.
///
/// Chunks gather in one database transaction until ``commit()``; a crash before leaves nothing of them. The initialiser
/// takes the store's lease, so the editing contexts of a process save through the same writer. Calls from several threads
/// come one after the other.
public final class WriterContext: @unchecked Sendable {
    // Everything that changes is guarded by the lock; a call may lead to others of the same context.
    private let lock = NSRecursiveLock()

    /// How a writer context works.
    public struct Options {
        /// The author of changes, for the history: the name of the process by default.
        public var author = ProcessInfo.processInfo.processName
        /// The context's name, for the history.
        public var name: String?
        /// For how long other machines wait before they take the store from a silent holder.
        public var leaseTTLSeconds: Double = 10
        /// The number of objects above which a deletion is carried out inside the store, by sets of rows.
        public var setDeletionThreshold = 1000
        /// A program's own checks by the name of the entity; an ancestor's checks hold for its sub-entities too.
        public var validators: [String: EntityValidator] = [:]
        /// Whether a store whose disk failed is verified before it is written again; a repair does without.
        public var verifiesSuspectStore = true
        /// The time, in microseconds since 1970 UTC.
        public var now: () -> Int64 = WriterContext.systemTime
        /// Called again and again while a call of the writer works in the store, which may take minutes.
        package var onProgress: (() -> Void)?

        /// Makes options with their defaults.
        public init() {}
    }

    /// The outcome of a chunk.
    public struct ChunkResult {
        /// One outcome an event.
        public let outcomes: [EventOutcome]
        /// How many objects were inserted, updated and deleted.
        public let changes: ChangeTally
        /// How many placeholders were made for objects that have not arrived.
        public let placeholderCount: Int
        /// The token of the history transaction, or nil where nothing changed.
        public let token: Int64?

        /// Throws the errors for which the chunk's events were refused, so that no refusal passes unseen.
        ///
        ///     let changes = try writer.apply(chunk).check().changes
        ///
        /// The events beside a refused one are applied; ``WriterContext/rollback()`` takes them back, too.
        ///
        /// - Throws: ``RefusedEvents``.
        @discardableResult
        public func check() throws(RefusedEvents) -> ChunkResult {
            if let refused = RefusedEvents(outcomes) { throw refused }
            return self
        }
    }

    /// A chunk of events with the positions and dead letters that are saved with them.
    public struct Chunk {
        /// The events in the order in which they apply.
        public var events: [ChangeSet]
        /// The events instead, where they are packed already.
        package var packed: PackedEvents?
        /// Where the events come from, for the history.
        public var source: String?
        /// The trace context of the first event's record, for the history: a W3C `traceparent`, or nil.
        public var trace: String?
        /// The positions after the chunk.
        public var positions: [SourcePosition] = []
        /// Records that could not be decoded.
        public var deadLetters: [DeadLetter] = []
        /// The numbers of the dead letters that are tried again, one for each event. The save removes the letters of
        /// applied and stale events, and counts an attempt of the others.
        public var retriedLetters: [Int64] = []
        /// Dead letters that were tried again and could not be decoded, with the new reason.
        public var undecodedLetters: [DeadLetter] = []
        /// The numbers of dead letters whose records are not wanted any more.
        public var unwantedLetters: [Int64] = []

        /// Makes a chunk; without events it still saves its positions and dead letters.
        public init(
            events: [ChangeSet], source: String? = nil, positions: [SourcePosition] = [],
            deadLetters: [DeadLetter] = []
        ) {
            self.events = events
            self.source = source
            self.positions = positions
            self.deadLetters = deadLetters
        }
    }

    /// The store that the context writes.
    public let store: Store
    package let options: Options
    package let session: any WriterSession
    package let registry: ObjectRegistry
    package let applier: EventApplier
    package let plan: DerivedPlan
    private var claimRenewed: Int64
    package var nextChange: Int64
    package var uncommittedCount = 0
    private var lastCommittedToken: Int64?
    private var isClosed = false
    /// Whether the counters have to be read before the next transaction writes.
    private var needsCounters = false
    package var savedToken: Int64?
    /// Whether the open transaction is a draft, which may be lost to another writer.
    var isDraft = false
    /// The draft's token, counted from the last one before it.
    var draftToken: Int64?
    /// Whether the open transaction has a chunk that was to be drafted and took the lock first.
    var isLockedChunk = false
    var attempts = CommitAttempts()
    /// Why another save undid applied chunks; the next call throws it to their caller.
    var undoneChunks: StoreError?
    /// Whether a commit waits for the end of ``inOneCommit(_:)``.
    var holdsCommits = false

    /// The number of rows written since the last commit.
    public var uncommittedRows: Int { exclusively { uncommittedCount } }
    /// The last token that was committed by this context, or nil.
    public var committedToken: Int64? { exclusively { lastCommittedToken } }

    /// Calls `body` while no other thread uses the writer.
    package func exclusively<Result>(_ body: () throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body()
    }

    /// Makes the writer of a store.
    ///
    /// - Throws: ``StoreError`` with code `store.leased` where another worker holds the store, and `store.corrupt` where
    ///   its disk failed and verifying it found damage.
    public init(store: Store, options: Options = Options()) throws(StoreError) {
        if options.verifiesSuspectStore { try store.verifyIfNeeded() }
        self.store = store
        self.options = options
        let validators = try Validators(options.validators, model: store.model)
        let now = options.now()
        let session = try store.storage.makeWriterSession()
        do {
            let counters = try session.access {
                let counters = try session.claim(ttlSeconds: options.leaseTTLSeconds, now: now)
                session.onProgress = options.onProgress
                return counters
            }
            registry = ObjectRegistry(
                session, model: store.model, setDeletionThreshold: options.setDeletionThreshold)
            registry.take(counters, remembersAggregates: !session.sharesStore)
            nextChange = counters.nextChange
        } catch {
            throw StoreError(error, action: "take the store's lease")
        }
        self.session = session
        claimRenewed = now
        applier = EventApplier(registry: registry, validators: validators)
        plan = DerivedPlan(store.model)
    }

    /// The system's time in microseconds since 1970 UTC.
    public static func systemTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    // MARK: Chunks

    /// Applies and saves a chunk, then resets the context; ``commit()`` makes it last.
    ///
    /// An event that breaks a rule leaves no trace and does not harm the others.
    ///
    /// - Parameters:
    ///   - chunk: the events with what is saved beside them.
    ///   - deadLetter: makes the dead letter of a failed event, given its position in the chunk.
    /// - Throws: ``StoreError``. Everything since the last commit is undone then: apply it again from the committed
    ///   positions.
    public func apply(
        _ chunk: Chunk, deadLetter: (Int, EventFailure) -> DeadLetter? = { _, _ in nil }
    ) throws(StoreError) -> ChunkResult {
        try apply(chunk, mayConflict: false, deadLetter: deadLetter)
    }

    /// - Parameter mayConflict: whether the chunk may be a draft: see ``drafts``. Then this call or the
    ///   commit may fail with `store.conflict`: apply the chunk again. The token is known after the commit only.
    package func apply(
        _ chunk: Chunk, mayConflict: Bool, deadLetter: (Int, EventFailure) -> DeadLetter? = { _, _ in nil }
    ) throws(StoreError) -> ChunkResult {
        var chunk = chunk
        if chunk.packed == nil { chunk.packed = PackedEvents(chunk.events, store.model) }
        return try undoingOnFailure("save the chunk") {
            try reportUndoneChunks()
            if isDraft { try commit() }
            let isFirst = !session.isInTransaction
            if isFirst, mayConflict { try beginDraft(of: chunk) } else { try beginIfNeeded() }
            if isDraft { return try saveDraft(chunk, deadLetter) }
            do {
                // For a savepoint SQLite keeps the former state of every page; the first chunk needs none.
                if isFirst { return try save(chunk, deadLetter, isolatesEvents: false) }
                return try session.undoingOnFailure { try save(chunk, deadLetter, isolatesEvents: false) }
            } catch let error as StoreError where error.isOfOneEvent {
                // An event broke a rule of the schema that memory does not check, or met a stored value that no operation
                // can use. Find that event.
                if isFirst {
                    try session.rollback()
                    try session.begin()
                }
                try restart()
                return try save(chunk, deadLetter, isolatesEvents: true)
            }
        }
    }

    // MARK: Transactions

    /// Makes everything applied since the last commit last.
    ///
    /// - Throws: ``StoreError``; everything since the last commit is undone then.
    public func commit() throws(StoreError) {
        try noticingConflicts(comparing: true) { () throws(StoreError) in try commitOpen() }
    }

    private func commitOpen() throws(StoreError) {
        try undoingOnFailure("commit") {
            try reportUndoneChunks()
            guard session.isInTransaction, !holdsCommits else { return }
            let now = options.now()
            let isDue = abs(now - claimRenewed) > Int64(options.leaseTTLSeconds * 250_000)
            if isDue { try session.renewClaim(now: now) }
            try session.commit()
            if isDue { claimRenewed = now }
            noteCommit()
            if lastCommittedToken != savedToken { store.signal.notify() }
            lastCommittedToken = savedToken
            uncommittedCount = 0
        }
    }

    /// Undoes everything since the last commit.
    ///
    /// - Throws: ``StoreError``.
    public func rollback() throws(StoreError) {
        try perform("roll back") {
            undoneChunks = nil
            isDraft = false
            savedToken = lastCommittedToken
            uncommittedCount = 0
            // The server may be away, and then only memory is put right at once.
            forget()
            try session.rollback()
            take(try session.counters())
        }
    }

    private func reportUndoneChunks() throws(StoreError) {
        guard let reason = undoneChunks else { return }
        undoneChunks = nil
        throw reason
    }

    /// Keeps the lease while there is nothing to write; call it more often than the lease's time to live.
    ///
    /// - Returns: whether it was time to renew the lease, and the store took it.
    /// - Throws: ``StoreError`` with code `store.fenced` where another worker took the store.
    @discardableResult public func renewLease() throws(StoreError) -> Bool {
        let isDue = exclusively { abs(options.now() - claimRenewed) > Int64(options.leaseTTLSeconds * 250_000) }
        guard isDue else { return false }
        try undoingOnFailure("renew the lease") { try beginIfNeeded() }
        try commit()
        return true
    }

    /// Commits the applied events and gives the lease up. Another call of the writer, or of an editing context that
    /// saves through it, throws then; closing it again does nothing.
    ///
    /// - Throws: ``StoreError``.
    public func close() throws(StoreError) {
        lock.lock()
        defer { lock.unlock() }
        if isClosed { return }
        try commit()
        try undoingOnFailure("give up the lease") {
            try beginIfNeeded()
            try session.releaseClaim()
            try session.commit()
            session.close()
        }
        isClosed = true
    }

    deinit {
        // A transaction that nobody commits may not stay open. After the close a transaction is the next writer's.
        try? session.access {
            if !isClosed, session.isInTransaction { try session.rollback() }
            session.close()
        }
    }

    package func beginIfNeeded() throws {
        if isDraft { try commit() }
        if session.isInTransaction { return }
        try session.begin()
        try takeCounters()
    }

    /// Reads the counters again in a transaction that has begun, where the counters in memory may be wrong. Others may
    /// write the store, or its server was away when work was undone.
    func takeCounters() throws {
        if session.sharesStore || needsCounters { take(try session.counters()) }
    }

    private func take(_ counters: StoreCounters) {
        registry.take(counters, remembersAggregates: !session.sharesStore)
        nextChange = counters.nextChange
        needsCounters = false
    }

    /// Forgets all objects in memory and reads the counters again.
    package func restart() throws {
        forget()
        take(try session.counters())
    }

    /// Forgets all objects in memory, with the terms of aggregates: their rows may be undone.
    private func forget() {
        registry.reset()
        registry.aggregateMemory?.removeAll()
        applier.notes = []
        needsCounters = true
    }

    private func perform<Result>(_ action: String, _ body: () throws -> Result) throws(StoreError) -> Result {
        lock.lock()
        defer { lock.unlock() }
        // Another writer may have the store by now, and the keys that this one would give.
        if isClosed { throw StoreError.closedWriter }
        do {
            return try session.access(body)
        } catch {
            throw StoreError(error, action: action)
        }
    }

    package func undoingOnFailure<Result>(
        _ action: String, _ body: () throws -> Result
    ) throws(StoreError) -> Result {
        lock.lock()
        defer { lock.unlock() }
        do {
            return try perform(action, body)
        } catch {
            // The caller has to know the failure; if undoing fails too, the next use says so.
            store.storage.note(error)
            try? rollback()
            throw error
        }
    }

    // MARK: Maintenance

    /// The time, in microseconds since 1970 UTC.
    package var now: Int64 { options.now() }

    /// Calls `body` with the session inside a transaction that holds the lease, and commits it.
    package func change<Result>(_ action: String, _ body: (any WriterSession) throws -> Result) throws(StoreError)
        -> Result
    {
        lock.lock()
        defer { lock.unlock() }
        let result = try undoingOnFailure(action) {
            try beginIfNeeded()
            return try body(session)
        }
        try commit()
        return result
    }

    /// Removes dead letters, and commits that with the applied events.
    ///
    /// - Throws: ``StoreError``.
    public func removeDeadLetters(_ ids: [Int64]) throws(StoreError) {
        try change("remove dead letters") { try $0.removeDeadLetters(ids) }
    }

    /// Removes resolved conflicts that were reviewed, all up to a number.
    ///
    /// - Returns: how many were removed.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func dropConflicts(through id: Int64) throws(StoreError) -> Int {
        try change("drop conflicts") { try $0.removeConflicts(through: id) }
    }
}
