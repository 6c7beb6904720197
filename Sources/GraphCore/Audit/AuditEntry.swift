/// An administrative request that was made to the store's writer, with its outcome.
public struct AuditEntry: Sendable, Equatable {
    /// The entry's number in the store; 0 before it is saved.
    public var id: Int64 = 0
    /// When the request began, in microseconds since 1970 UTC.
    public let time: Int64
    /// Who made the request, such as `user 1000, process 4711`.
    public let actor: String
    /// The request's name, such as `dead-letters.drop`.
    public let action: String
    /// The arguments as a JSON object.
    public let request: String
    /// The key by which a repeated request is recognised, or nil.
    public let idempotencyKey: String?
    /// The state, and the result so far, as a JSON object; nil before the first step.
    public var result: String?

    /// Makes an entry that is not saved yet.
    package init(time: Int64, actor: String, action: String, request: String, idempotencyKey: String? = nil) {
        self.time = time
        self.actor = actor
        self.action = action
        self.request = request
        self.idempotencyKey = idempotencyKey
    }

    /// Makes an entry as a storage holds it.
    package init(
        id: Int64, time: Int64, actor: String, action: String, request: String, idempotencyKey: String?, result: String?
    ) {
        self.init(time: time, actor: actor, action: action, request: request, idempotencyKey: idempotencyKey)
        self.id = id
        self.result = result
    }
}

extension ReadContext {
    /// Returns the audit entries whose number is less than `id`, the last first, at most `limit`.
    ///
    /// - Throws: ``StoreError``.
    public func auditEntries(before id: Int64 = .max, limit: Int = 100) throws -> [AuditEntry] {
        try session.auditEntries(before: id, key: nil, limit: bounded(limit))
    }

    /// Returns the audit entry of an idempotency key, or nil.
    package func auditEntry(key: String) throws -> AuditEntry? {
        try session.auditEntries(before: .max, key: key, limit: 1).first
    }
}

extension WriterContext {
    /// Saves an audit entry with the next commit, and returns its number. Of a saved entry only the result changes.
    package func put(_ entry: AuditEntry) throws(StoreError) -> Int64 {
        try undoingOnFailure("save an audit entry") {
            try beginIfNeeded()
            return try session.put(entry)
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
