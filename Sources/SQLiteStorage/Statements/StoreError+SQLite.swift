import GRDB
import GRDBSQLite

extension StoreError {
    /// Makes an error of a result code of SQLite; `action` says what was tried, as in "save the chunk".
    init(resultCode: Int32, action: String, detail: String = "", path: String? = nil) {
        let suffix = detail.isEmpty ? "" : " (\(detail))"
        let place = path.map { " under \($0)" } ?? ""
        switch resultCode & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(
                .busy, "Could not \(action): another process holds the store",
                remedy: "Wait until it is done, or end it: 'fuser -v \(path ?? "STORE")' shows who holds it")
        case SQLITE_FULL:
            self.init(
                .full, "Could not \(action): the disk is full\(place)",
                remedy: "Free space on that disk; nothing was lost")
        case SQLITE_NOMEM:
            self.init(
                .unavailable, "Could not \(action): there is no memory left",
                remedy: "Give the process more memory, or end others; nothing was lost")
        case SQLITE_IOERR:
            let what = "Could not \(action): the disk failed\(place) (code \(resultCode))"
            self.init(.inputOutput, what, remedy: Self.damageRemedy)
        case SQLITE_CORRUPT:
            self.init(.corrupt, "Could not \(action): the file is damaged\(suffix)", remedy: Self.damageRemedy)
        case SQLITE_NOTADB:
            self.init(
                .corrupt, "Could not \(action): the file is damaged or no store\(suffix)", remedy: Self.noStoreRemedy)
        case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            self.init(
                .unavailable, "Could not \(action): the file cannot be opened or written",
                remedy: "Check that the folder exists, and that this user may read and write the file and its folder")
        case SQLITE_CONSTRAINT:
            self.init(
                .constraint, "Could not \(action): a rule of the schema was broken\(suffix)",
                remedy: "Correct the event, so that it keeps the rules of the model")
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

    private static let noStoreRemedy =
        "Restore a backup. Without one, move the file away with those that end in -wal and -shm: a new store is made from "
        + "the topics"

    /// Makes the error of a path without a file.
    static func noStore(at path: String) -> StoreError {
        StoreError(.unavailable, "There is no store at \(path)", remedy: "Run or replay first, or name another path")
    }

    /// Makes the error of a database of another program.
    static func noStore(in path: String) -> StoreError {
        StoreError(.corrupt, "The database at \(path) is no store", remedy: "Name another path")
    }

    /// Makes an error of a code that a running statement ended with.
    ///
    /// A statement that could be prepared and then fails with an error of the language met a value that its functions
    /// do not take. The store as a whole is sound: the writer can leave one event out.
    init(steppingCode code: Int32, detail: String, path: String? = nil) {
        let isOfValue: Bool
        switch code & 0xff {
        case SQLITE_MISMATCH, SQLITE_TOOBIG: isOfValue = true
        // A statement is prepared again where the schema was changed.
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

    /// Makes an error of the store of one of GRDB's; any other error stays as it is.
    static func translated(_ error: any Error, action: String) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        return StoreError(
            resultCode: error.extendedResultCode.rawValue, action: action,
            detail: detail(error.resultCode.rawValue, error.message))
    }

    /// Makes an error of the store of one of GRDB's or of any other.
    init(sqlite error: any Error, action: String) {
        self.init(Self.translated(error, action: action), action: action)
    }

    /// SQLite's message names tables and columns where a constraint breaks or the SQL is wrong, never values.
    static func detail(_ resultCode: Int32, _ message: String?) -> String {
        switch resultCode & 0xff {
        case SQLITE_CONSTRAINT, SQLITE_ERROR, SQLITE_NOTADB, SQLITE_CORRUPT: message ?? ""
        default: ""
        }
    }
}
