import GRDB
import GRDBSQLite

/// Why the store refused: a stable code, whether trying again can help, and what to do.
public struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of refusal; the raw values are stable and meant for scripts and logs.
    public enum Code: String, Sendable {
        /// Another connection holds the database.
        case busy = "store.busy"
        /// The disk is full.
        case full = "store.full"
        /// The disk failed; the store has to be verified before it is used again.
        case inputOutput = "store.io"
        /// The file is damaged or no SQLite database.
        case corrupt = "store.corrupt"
        /// The file cannot be opened or written.
        case unavailable = "store.unavailable"
        /// A rule of the schema was broken.
        case constraint = "store.constraint"
        /// The store was made with another model.
        case modelMismatch = "store.model_mismatch"
        /// The store was made by a newer version of this software.
        case newerFormat = "store.newer_format"
        /// Another worker holds the lease.
        case leased = "store.leased"
        /// This writer lost the lease to another.
        case fenced = "store.fenced"
        /// The store's position of a source is not the one that the chunk follows.
        case positionConflict = "store.position_conflict"
        /// The history after the token was purged.
        case historyExpired = "history.expired"
        /// The token is of another store.
        case historyForeignToken = "history.foreign_token"
        /// The token is ahead of the history: the store was restored from an older copy.
        case historyTokenAhead = "history.token_ahead"
        /// The text is no token.
        case historyMalformedToken = "history.malformed_token"
        /// The store was made by an older version of this software and has to be opened for writing once.
        case olderFormat = "store.older_format"
        /// A regular expression of a request needs too many steps.
        case tooComplex = "store.too_complex"
        /// A stored value cannot be worked with: another program put there what its type does not allow.
        case value = "store.value"
        /// Anything else that SQLite reports.
        case database = "store.database"
    }

    /// The kind of refusal, stable for scripts and logs.
    public let code: Code
    /// What happened, without any value of a row.
    public let message: String
    /// What to do.
    public let remedy: String

    /// Tells whether the same call may succeed later.
    public var isRetriable: Bool {
        switch code {
        case .busy, .full, .leased, .positionConflict: true
        default: false
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

    /// The message, the remedy and the code in one line.
    public var description: String { "\(message). \(remedy) [\(code.rawValue)]" }

    init(_ code: Code, _ message: String, remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }
}

extension StoreError {
    /// Makes an error of a result code of SQLite; `action` says what was tried, as in "save the chunk".
    init(resultCode: Int32, action: String, detail: String = "", path: String? = nil) {
        let suffix = detail.isEmpty ? "" : " (\(detail))"
        let place = path.map { " under \($0)" } ?? ""
        switch resultCode & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(.busy, "Could not \(action): another process holds the store", remedy: "Try again")
        case SQLITE_FULL:
            self.init(.full, "Could not \(action): the disk is full\(place)", remedy: "Free space; nothing was lost")
        case SQLITE_IOERR:
            self.init(
                .inputOutput, "Could not \(action): the disk failed\(place) (code \(resultCode))",
                remedy: "Check the disk, then run 'verify' before going on")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            self.init(
                .corrupt, "Could not \(action): the file is damaged or no store\(suffix)",
                remedy: "Restore a copy, or name another path")
        case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            self.init(
                .unavailable, "Could not \(action): the file cannot be opened or written",
                remedy: "Check that the folder exists and may be written")
        case SQLITE_CONSTRAINT:
            self.init(
                .constraint, "Could not \(action): a rule of the schema was broken\(suffix)",
                remedy: "Correct the event")
        case SQLITE_TOOBIG where detail == SQLFunctions.exhausted:
            self = .tooManySteps(action: action)
        case SQLITE_ERROR where detail == "parser stack overflow":
            self.init(
                .tooComplex, "Could not \(action): it is nested too deeply for SQLite",
                remedy: "Compute a part of the condition before, or split it up")
        default:
            self.init(
                .database, "Could not \(action): SQLite reports code \(resultCode)\(suffix)",
                remedy: "Report this with the log")
        }
    }

    /// Makes an error of a code that a running statement ended with.
    ///
    /// A statement that could be prepared and then fails with an error of the language met a value that its functions
    /// do not take. The store as a whole is sound: the writer can leave one event out.
    init(steppingCode code: Int32, detail: String, path: String? = nil) {
        let isOfValue: Bool
        switch code & 0xff {
        case SQLITE_MISMATCH: isOfValue = true
        case SQLITE_TOOBIG: isOfValue = detail != SQLFunctions.exhausted
        // A statement is prepared anew where the schema was changed.
        case SQLITE_ERROR: isOfValue = !detail.contains("no such ")
        default: isOfValue = false
        }
        guard isOfValue else {
            self.init(resultCode: code, action: "run a statement", detail: detail, path: path)
            return
        }
        self.init(
            .value, "A stored value cannot be worked with (\(detail.isEmpty ? "code \(code)" : detail))",
            remedy: "Run 'verify' to find the value, and correct it")
    }

    /// Tells whether another event may do where this one failed: what it met, and not the store, is at fault.
    var isOfOneEvent: Bool { code == .constraint || code == .value || code == .tooComplex }

    /// Makes the error of a regular expression that would take too long.
    static func tooManySteps(action: String) -> StoreError {
        StoreError(
            .tooComplex, "Could not \(action): a regular expression needs too many steps",
            remedy: "Write a pattern without repetitions inside of repetitions")
    }

    /// Makes an error of whatever GRDB threw.
    init(_ error: any Error, action: String) {
        if let error = error as? StoreError {
            self = error
        } else if let error = error as? DatabaseError {
            self.init(
                resultCode: error.extendedResultCode.rawValue, action: action,
                detail: Self.detail(error.resultCode.rawValue, error.message))
        } else {
            self.init(.database, "Could not \(action): \(type(of: error))", remedy: "Report this with the log")
        }
    }

    /// Returns what GRDB threw as an error of the store; any other error as it is.
    static func translated(_ error: any Error, action: String) -> any Error {
        error is DatabaseError ? StoreError(error, action: action) : error
    }

    /// SQLite's message names tables and columns where a constraint breaks or the SQL is wrong, never values.
    static func detail(_ resultCode: Int32, _ message: String?) -> String {
        switch resultCode & 0xff {
        case SQLITE_CONSTRAINT, SQLITE_ERROR, SQLITE_NOTADB, SQLITE_CORRUPT: message ?? ""
        case SQLITE_TOOBIG where message == SQLFunctions.exhausted: SQLFunctions.exhausted
        default: ""
        }
    }
}
