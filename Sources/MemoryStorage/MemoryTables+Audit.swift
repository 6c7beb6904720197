extension MemoryTables {
    /// Appends a new audit entry, or stores the result of one that is there, and returns its number.
    mutating func put(_ entry: AuditEntry) -> Int64 {
        if let index = auditEntries.firstIndex(where: { $0.id == entry.id }) {
            auditEntries[index].result = entry.result
            return entry.id
        }
        var entry = entry
        entry.id = (auditEntries.last?.id ?? 0) + 1
        auditEntries.append(entry)
        return entry.id
    }

    /// Removes the oldest audit entries that were made before a time, and returns how many.
    mutating func removeAuditEntries(before time: Int64, limit: Int) -> Int {
        let old = Set(auditEntries.filter { $0.time < time }.prefix(limit).map(\.id))
        auditEntries.removeAll { old.contains($0.id) }
        return old.count
    }
}
