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

    /// Returns the number of audit entries that were made before a time.
    package func auditCount(before time: Int64) throws -> Int { try session.auditCount(before: time) }

    /// Returns the text that is stored under a key beside the tables, or nil.
    package func note(_ key: String) throws -> String? { try session.note(key) }
}
