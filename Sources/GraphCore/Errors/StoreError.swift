/// Why the store refused: a stable code, whether trying again can help, and what to do.
public struct StoreError: CodedError, Equatable {
    /// The kinds of refusal; the raw values are stable and meant for scripts and logs.
    public enum Code: String, Sendable, CaseIterable {
        /// Another connection holds the database.
        case busy = "store.busy"
        /// The disk is full.
        case full = "store.full"
        /// The disk failed; the store has to be verified before it is used again.
        case inputOutput = "store.io"
        /// The store is damaged, or the file is no database.
        case corrupt = "store.corrupt"
        /// The store cannot be opened or written.
        case unavailable = "store.unavailable"
        /// The connection to the database server was lost, or cannot be made now.
        case disconnected = "store.disconnected"
        /// A rule of the schema was broken.
        case constraint = "store.constraint"
        /// The store was made with another model.
        case modelMismatch = "store.model_mismatch"
        /// The storage cannot keep a store of this model.
        case modelUnsuited = "store.model_unsuited"
        /// The store was made by a newer version of this software.
        case newerFormat = "store.newer_format"
        /// Another worker holds the lease.
        case leased = "store.leased"
        /// This writer lost the lease to another.
        case fenced = "store.fenced"
        /// The store's position of a source is not the one that the chunk follows.
        case positionConflict = "store.position_conflict"
        /// Another writer that shares the store has changed what a chunk has read.
        case conflict = "store.conflict"
        /// The history after the token was purged.
        case historyExpired = "history.expired"
        /// The token is of another store.
        case historyForeignToken = "history.foreign_token"
        /// The token is ahead of the history: an older copy of the store was put there by hand.
        case historyTokenAhead = "history.token_ahead"
        /// The transactions up to the token were lost when a backup was restored or another server took over, and their
        /// numbers came again.
        case historyForked = "history.forked"
        /// The text is no token.
        case historyMalformedToken = "history.malformed_token"
        /// The store was made by an older version of this software and has to be opened for writing once.
        case olderFormat = "store.older_format"
        /// A regular expression of a request needs too many steps.
        case tooComplex = "store.too_complex"
        /// A read took longer than it may.
        case timeLimit = "store.time_limit"
        /// A stored value cannot be worked with: another program put there what its type does not allow.
        case value = "store.value"
        /// Anything else that the database reports.
        case database = "store.database"
    }

    /// The kind of refusal, stable for scripts and logs.
    public let code: Code
    /// The message, without any value of a row.
    public let message: String
    /// The remedy.
    public let remedy: String

    /// Tells whether the same call may succeed later.
    public var isRetriable: Bool {
        switch code {
        case .busy, .full, .leased, .positionConflict, .conflict, .disconnected: true
        case .inputOutput, .corrupt, .unavailable, .constraint, .modelMismatch, .modelUnsuited, .newerFormat, .fenced,
            .historyExpired,
            .historyForeignToken, .historyTokenAhead, .historyForked, .historyMalformedToken, .olderFormat, .tooComplex,
            .timeLimit, .value, .database:
            false
        }
    }

    /// Tells whether the disk failed or damage was found: the store has to be verified before it is written again.
    public var isDiskFailure: Bool { code == .inputOutput || code == .corrupt }

    /// The number that Core Data has for the kind of refusal, or nil where it has none.
    ///
    /// Source: CoreDataErrors.h, and for tokens of other stores what the framework was seen to return.
    public var coreDataCode: Int? {
        switch code {
        case .historyExpired: 134_301
        case .historyForeignToken: 134_501
        case .modelMismatch: 134_100
        default: nil
        }
    }

    package init(_ code: Code, _ message: String, remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    /// The steps after damage, the lightest first.
    package static let damageRemedy =
        "Check the disk. Stop the worker, and run 'verify --repair'. If problems remain, \(replacement)"
    /// The steps after damage that 'verify --repair' met and left.
    package static let leftDamageRemedy = "They cannot be repaired: \(replacement)"
    private static let replacement = "restore a backup, or build the store again with 'run --rebuild'"

    /// The error as a repair throws it: without the advice to repair.
    package var ofRepair: StoreError {
        remedy == Self.damageRemedy
            ? StoreError(code, message, remedy: "Check the disk, and \(Self.replacement)") : self
    }
    /// The mark beside the store says that it is damaged, or that its disk failed.
    package static let damaged = StoreError(
        .corrupt, "The store is damaged, or its disk failed: nothing is written before it is verified",
        remedy: damageRemedy)
    /// Makes the error of an entity whose table, or view for people, would have more columns than the storage gives one.
    package static func tooManyColumns(
        _ entity: String, count: Int, limit: Int, of storage: String, remedy: String
    ) -> StoreError {
        StoreError(
            .modelUnsuited,
            "\(entity) has \(count) properties in columns, with those of entities in its table; \(storage) has at most "
                + "\(limit)", remedy: remedy)
    }

    /// Makes the error of a store that was removed, or exchanged for another, under the process that writes it.
    package static func displaced(_ path: String) -> StoreError {
        StoreError(
            .unavailable, "The store at \(path) was removed or exchanged under this process, which writes no more",
            remedy: "Put the right store back and start again: the worker reads on from the positions of that store")
    }

    /// The store was closed before.
    package static let closed = StoreError(.unavailable, "The store is closed", remedy: "Open it again")
    /// The writer was closed before.
    static let closedWriter = StoreError(
        .unavailable, "The writer is closed", remedy: "Make another WriterContext of the store")
}

extension StoreError {
    /// Makes an error of any other one; `action` says what was tried, as in "save the chunk". An error of a store stays.
    package init(_ error: any Error, action: String) {
        self =
            error as? StoreError
            ?? StoreError(
                .database, "Could not \(action): \(type(of: error))", remedy: "Report this with the log")
    }

    /// Tells whether another event may do where this one failed: what it met, and not the store, is at fault.
    var isOfOneEvent: Bool { code == .constraint || code == .value || code == .tooComplex }

    /// Makes the error of a position that is another one than the writer expects.
    package static func positionConflict(_ position: SourcePosition) -> StoreError {
        StoreError(
            .positionConflict,
            "Another writer has saved the position of \(position.topic)/\(position.partition) meanwhile",
            remedy: "Nothing of the chunk was saved; read on from the store's positions")
    }

    /// Makes the error of a read that was ended at its time limit.
    static func timeLimit(seconds: Double) -> StoreError {
        StoreError(
            .timeLimit, "The read took more than \(Int(seconds.rounded(.up))) s, and was ended",
            remedy: "Narrow the condition, or add an index on the property that it compares or sorts by to the model")
    }
}

extension StoreError {
    /// Makes the error of a store whose layout has to be brought up to date before it is read.
    package static func olderFormat(_ path: String) -> StoreError {
        StoreError(
            .olderFormat, "The store at \(path) was made by an older version",
            remedy: "Start the worker once, or any command that writes: it brings the store up to date")
    }

    /// Makes the error of a store whose layout this program does not know.
    package static func newerFormat(_ path: String, layout: Int) -> StoreError {
        StoreError(
            .newerFormat, "The store at \(path) was made by a newer version (layout \(layout))",
            remedy: "Use that version; the store is unharmed")
    }
}
