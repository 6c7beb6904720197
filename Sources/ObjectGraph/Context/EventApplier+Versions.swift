// Late events: older than what is known of their object.
extension EventApplier {
    func isStale(_ operation: ObjectOperation) -> Bool {
        let root = registry.roots[operation.entity]
        let known = registry.byIdentity[root][operation.identity]
        if let known, known.isAlive, !known.state.isPlaceholder {
            return !operation.version.isNull && operation.version.isOlder(than: known.version) == true
        }
        guard let tombstone = registry.tombstones[root][operation.identity]?.current else { return false }
        return isOlderOrEqual(operation, than: tombstone)
    }

    /// Compares with the deletion by version where both have one, else by time where both have one; otherwise the
    /// order of arrival decides and the operation is the newer.
    private func isOlderOrEqual(_ operation: ObjectOperation, than tombstone: Tombstone) -> Bool {
        if !operation.version.isNull, let isNewer = tombstone.version.isOlder(than: operation.version) {
            return !isNewer
        }
        if let time = operation.time, let deleted = tombstone.time { return time <= deleted }
        return false
    }
}
