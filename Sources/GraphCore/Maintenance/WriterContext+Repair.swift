extension WriterContext {
    /// Repairs values that follow from the rest of the store: derived values, references and links that lead nowhere.
    ///
    /// Works in chunks, each a transaction of its own with a history transaction for its changes. An interrupted repair
    /// can be called again. The report holds the problems that only a person can decide.
    ///
    /// - Parameters:
    ///   - chunkLength: the number of objects or links that one transaction looks at.
    ///   - progress: takes the name of each step before it begins.
    /// - Throws: ``StoreError``.
    public func repair(chunkLength: Int = 5000, progress: (String) -> Void = { _ in }) throws -> RepairReport {
        try repair(chunkLength, progress) { try store.verify(progress: progress) }
    }

    /// Repairs as ``repair(chunkLength:progress:)`` does.
    ///
    /// - Parameter verifying: takes each step of the verification afterwards.
    package func repair(
        progress: (String) -> Void, verifying: (VerificationStep) -> Void
    ) throws -> RepairReport {
        try repair(5000, progress) { try store.verify(.ofOneSnapshot, progress: verifying) }
    }

    private func repair(
        _ chunkLength: Int, _ progress: (String) -> Void, verify: () throws -> VerificationReport
    ) throws -> RepairReport {
        var report = try store.administration().repair(self, chunkLength: max(1, chunkLength), progress: progress)
        // The counters of this context are behind the counters that the repair has written.
        try rollback()
        report.remaining = try verify()
        return report
    }
}
