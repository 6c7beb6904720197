// Late events: older than the known version of their object.
extension EventApplier {
    /// Tells whether an operation is older than its object, or than its object's deletion.
    ///
    /// - Parameters:
    ///   - places: the places of the identities that it names.
    ///   - known: the object of the identity, alive or not, or nil.
    func isStale(
        _ operation: OperationPointer, _ places: UnsafePointer<Int32>, _ known: ContextObject?
    ) -> Bool {
        if let known, known.isAlive, !known.state.isPlaceholder {
            return operation.pointee.version.isOlder(than: known.version) == true
        }
        let identities = registry.byIdentity[registry.roots[operation.pointee.entity]]
        guard let tombstone = identities.tombstone(at: Int(places[0]))?.current else { return false }
        return isOlderOrEqual(operation.pointee, than: tombstone)
    }

    /// Compares with the deletion by version where both have one, else by time where both have one. Otherwise the order of
    /// arrival decides, and the operation is the newer.
    private func isOlderOrEqual(_ operation: ObjectOperation, than tombstone: Tombstone) -> Bool {
        if !operation.version.isNull, let isNewer = tombstone.version.isOlder(than: operation.version) {
            return !isNewer
        }
        if let time = operation.time, let deleted = tombstone.time { return time <= deleted }
        return false
    }
}
