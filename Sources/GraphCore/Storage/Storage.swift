/// The place that holds one store: it lends snapshots, makes the session of the writer, and knows whether it is sound.
///
/// ``Store`` works through a storage and knows nothing else of the place. docs/reference/storages.md states the contract.
package protocol Storage: AnyObject, Sendable {
    /// The place for people: the path of a file, or a word for a place without one.
    var path: String { get }

    /// How much room the store takes, or nil where the storage cannot tell now.
    var size: StoreSize? { get }

    // MARK: Reading

    /// Calls `body` with a snapshot, and with the checked requests that the snapshot's connection keeps, if it keeps any.
    ///
    /// - Parameter interruption: ends the read early where somebody asks for that, or at its time limit.
    /// - Throws: ``StoreError`` where the storage fails, what `body` throws, and the failure of the interruption.
    func read<Result>(
        _ interruption: ReadInterruption?, _ body: (any SnapshotSession, FetchRequestCache?) throws -> Result
    ) throws -> Result

    /// Makes a reader of which each call sees the last commit; one thread at a time uses it.
    func makeRowReader() throws(StoreError) -> any RowReader

    // MARK: Writing

    /// Makes the session of a writer; one of a process at a time.
    ///
    /// - Throws: ``StoreError`` with code `store.leased` where another writer context of this process writes the store.
    func makeWriterSession() throws(StoreError) -> any WriterSession

    /// Checks that the store which this process has opened still stands at its place.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where it was removed or exchanged.
    func checkPlace() throws(StoreError)

    // MARK: Soundness

    /// Whether the storage failed or was found damaged, and nobody has verified it since.
    var needsVerification: Bool { get }

    /// Marks the store where the error says that the storage failed or is damaged.
    func note(_ error: StoreError)

    /// Removes the mark of ``note(_:)``: the store was verified and is sound.
    func noteSound()

    /// Closes all connections. A store that needs verification is left as it is.
    func close() throws(StoreError)
}

extension Storage {
    package func checkPlace() throws(StoreError) {}
}

/// How much room a store takes.
package struct StoreSize: Sendable {
    /// The store itself.
    package let bytes: Int
    /// The log of what was written last, or nil where the store has no log of its own.
    package let logBytes: Int?

    package init(bytes: Int, logBytes: Int?) {
        self.bytes = bytes
        self.logBytes = logBytes
    }
}

/// A storage whose stores can be verified where they stand, and repaired where its writers are ``RepairQueries``.
package protocol StorageAdministration: Storage {
    /// Checks that the store holds together.
    ///
    /// - Parameters:
    ///   - snapshot: a session of this storage.
    ///   - slices: whether the session may be renewed on the way.
    ///   - progress: takes each check before it begins, and again after each slice.
    func verify(
        _ snapshot: ReadContext, _ slices: VerificationSlices, progress: (VerificationStep) -> Void
    ) throws -> VerificationReport
}
