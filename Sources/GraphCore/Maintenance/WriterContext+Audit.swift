extension WriterContext {
    /// Saves an audit entry with the next commit, and returns its number. Of a saved entry only the result changes.
    package func put(_ entry: AuditEntry) throws(StoreError) -> Int64 {
        try undoingOnFailure("save an audit entry") {
            try beginIfNeeded()
            return try session.put(entry)
        }
    }

    /// Stores a text under a key beside the tables, with the next commit.
    package func putNote(_ key: String, _ text: String) throws(StoreError) {
        try undoingOnFailure("save a note") {
            try beginIfNeeded()
            try session.putNote(key, text)
            uncommittedCount += 1
        }
    }

    /// Removes the oldest audit entries that were made before a time, at most `limit`, and returns how many.
    ///
    /// - Parameters:
    ///   - time: microseconds since 1970 UTC.
    ///   - limit: the number of entries to remove at most.
    package func purgeAudit(before time: Int64, limit: Int = 1000) throws(StoreError) -> Int {
        try commit()
        return try change("purge the audit") { session in
            try session.removeAuditEntries(before: time, limit: max(1, limit))
        }
    }

    /// Makes everything that `body` does one commit. Chunks that were applied before are committed first.
    ///
    /// Where `body` or the commit throws, nothing of it stays.
    package func inOneCommit<Result>(_ body: () throws -> Result) throws -> Result {
        try exclusively {
            try commit()
            holdsCommits = true
            let result: Result
            do {
                defer { holdsCommits = false }
                result = try body()
            } catch {
                try? rollback()
                throw error
            }
            try commit()
            return result
        }
    }
}
