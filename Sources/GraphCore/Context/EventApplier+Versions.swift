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
            return operation.pointee.version.isOlder(than: known.packedVersion) == true
        }
        let identities = registry.byIdentity[registry.roots[operation.pointee.entity]]
        guard let tombstone = identities.tombstone(at: Int(places[0]))?.current else { return false }
        return isOlderOrEqual(operation, than: tombstone)
    }

    /// Compares with the deletion by version where both have one, else by time where both have one. Otherwise the order of
    /// arrival decides, and the operation is the newer.
    private func isOlderOrEqual(_ operation: OperationPointer, than tombstone: Tombstone) -> Bool {
        let version = operation.pointee.version
        if !version.isNull, let isNewer = tombstone.version.isOlder(than: version.value) { return !isNewer }
        if let time = operation.pointee.time, let deleted = tombstone.time { return time <= deleted }
        return false
    }
}
