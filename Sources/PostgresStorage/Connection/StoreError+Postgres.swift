extension StoreError {
    /// Makes an error of a code of PostgreSQL; `action` says what was tried, as in "save the chunk".
    ///
    /// - Parameter place: the table and constraint, or the message of an error of the language. Neither has values.
    init(sqlState: String, action: String, place: String) {
        let suffix = place.isEmpty ? "" : " (\(place))"
        switch sqlState {
        case "25P03":
            self.init(
                .disconnected, "Could not \(action): the worker stood still, and the server ended its transaction",
                remedy: "Read on from the store's positions. If it happens again, raise lease.ttlSeconds")
        case "25P04":
            self.init(
                .disconnected, "Could not \(action): the server ended the transaction after its transaction_timeout",
                remedy: "Read on from the store's positions. If it happens again, raise transaction_timeout")
        case "25006":
            self.init(
                .disconnected, "Could not \(action): the server only reads, as a standby does",
                remedy: "Name all servers in store.url, with target_session_attrs=read-write")
        case "57014":
            self.init(
                .busy, "Could not \(action): the server ended the statement, after its statement_timeout or by hand",
                remedy: "Try again. If it happens again, raise statement_timeout of the role or the database")
        case "53100":
            self.init(.full, "Could not \(action): the server's disk is full", remedy: "Free space; nothing was lost")
        case "53200":
            self.init(
                .full, "Could not \(action): the server has no memory left",
                remedy: "Give the server more memory, or lower its work_mem; nothing was lost")
        case "2BP01":
            self.init(
                .unavailable, "Could not \(action): tables or views that are not the store's own rest on it\(suffix)",
                remedy: "Remove them, try again, and make them again afterwards")
        case "58030":
            self.init(
                .inputOutput, "Could not \(action): the server's disk failed", remedy: "Check the server's log and disk"
            )
        default: self.init(classOf: sqlState, action, suffix)
        }
    }

    /// Makes an error of a code that its class, or one of a few, tells enough of.
    private init(classOf sqlState: String, _ action: String, _ suffix: String) {
        switch (sqlState.prefix(2), sqlState) {
        case (_, "42P01"), (_, "3F000"):
            self.init(
                .unavailable, "Could not \(action): a table of the store is gone (code \(sqlState))",
                remedy: "Somebody removed or exchanged the schema under this process: put the right store back, and "
                    + "start again")
        case ("23", _):
            self.init(
                .constraint, "Could not \(action): a rule of the schema was broken\(suffix)",
                remedy: "Correct the event")
        case ("22", _), (_, "54000"):
            self.init(
                .value, "Could not \(action): PostgreSQL does not keep a value (code \(sqlState))",
                remedy:
                    "Correct the event: no text has a NUL, and no indexed text has more than 2,700 bytes. A row has "
                    + "room for about 8,000 bytes of numbers and of references to long texts")
        case ("40", _), (_, "55P03"):
            self.init(.busy, "Could not \(action): another connection holds rows of the store", remedy: "Try again")
        case ("XX", _) where sqlState != "XX000":
            self.init(
                .corrupt, "Could not \(action): the server reports damage (code \(sqlState))",
                remedy: "Check the server's log, and restore a copy")
        case ("08", _), ("57", _): self = .disconnected(action)
        case ("28", _), ("3D", _), ("53", _), (_, "42501"), ("25", _):
            self.init(
                .unavailable, "Could not \(action): the server refuses it (code \(sqlState))",
                remedy: "Check user, password, database, rights and the server's number of connections")
        default:
            self.init(
                .database, "Could not \(action): PostgreSQL reports code \(sqlState)\(suffix)",
                remedy: "Report this with the log")
        }
    }

    /// Makes the error of a connection that was lost, with a code that lets the caller try again. Whether a commit under way
    /// has happened, the stored positions tell.
    static func disconnected(_ action: String) -> StoreError {
        StoreError(
            .disconnected, "Could not \(action): the connection to the server was lost",
            remedy: "Read on from the store's positions; the next transaction connects again")
    }
}
