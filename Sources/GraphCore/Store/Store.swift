import Foundation

/// A store: the objects of a model, their history and the worker's own tables, in one place.
///
/// One process writes, through one ``WriterContext``, unless writers share a store in PostgreSQL. Any number read
/// snapshots.
public final class Store: Sendable {
    /// The model that the store was opened with.
    public let model: ObjectModel
    package let storage: any Storage
    /// Wakes readers of this process when its writer has committed.
    public let signal = ChangeSignal()

    /// Makes the store of a storage that holds objects of a model.
    package init(_ storage: any Storage, model: ObjectModel) {
        self.storage = storage
        self.model = model
    }

    /// The file's path; for a store without a file a word for its place.
    public var path: String { storage.path }

    /// How much room the store takes, or nil where that is not known now.
    package var size: StoreSize? { storage.size }

    /// Returns the store's own identity, made with it.
    ///
    /// - Throws: ``StoreError``.
    public func identity() throws -> String {
        try read { try $0.session.storeID() }
    }

    // MARK: Reading

    /// Calls `body` with a snapshot: all it reads is of one commit.
    ///
    /// - Throws: ``StoreError``, and what `body` throws.
    public func read<Result>(_ body: (ReadContext) throws -> Result) throws -> Result { try read(nil, body) }

    private func read<Result>(
        _ interruption: ReadInterruption?, _ body: (ReadContext) throws -> Result
    ) throws -> Result {
        do {
            return try storage.read(interruption) { try body(ReadContext($0, model: model, requests: $1)) }
        } catch let error as StoreError {
            storage.note(error)
            throw error
        }
    }

    /// As ``read(_:)``, without blocking the task's thread. The read ends once the task is cancelled, and returns nil.
    ///
    /// One step of a database, such as a sort or a function of a long text, knows no end. A read may be in such a step a
    /// second after its end. Then it answers all the same. Its thread and its connection are free once the step is over.
    ///
    /// - Parameters:
    ///   - limitSeconds: how long the read may take once it has begun; nil for any time.
    ///   - schedule: has the read done on a thread that may block; by default at once, on a thread of its own.
    /// - Throws: as ``read(_:)``; ``StoreError`` with code `store.time_limit` where the read took longer.
    package func reading<Result: Sendable>(
        withinSeconds limitSeconds: Double? = nil,
        schedule: (@escaping @Sendable () -> Void) -> Void = { DispatchQueue(label: "reading").async(execute: $0) },
        _ body: @escaping @Sendable (ReadContext) throws -> Result
    ) async throws -> Result? {
        let interruption = ReadInterruption(limitSeconds: limitSeconds)
        let answer = AbandonableAnswer<Result>()
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    answer.wait(continuation)
                    schedule {
                        if let limitSeconds {
                            let late = StoreError.timeLimit(seconds: limitSeconds)
                            answer.abandon(afterSeconds: limitSeconds, with: late)
                        }
                        answer.give(Swift.Result { try self.read(interruption, body) })
                    }
                }
            } onCancel: {
                interruption.cancel()
                answer.abandon(afterSeconds: 0, with: CancellationError())
            }
        } catch {
            if error is CancellationError || Task.isCancelled { return nil }
            throw error
        }
    }

    /// Closes all connections. A store in a file carries its write-ahead log over first.
    ///
    /// After a failure of its disk the log stays as it is: a checkpoint would write what nobody has verified.
    ///
    /// - Throws: ``StoreError``.
    public func close() throws(StoreError) { try storage.close() }
}

// MARK: - Verification

extension Store {
    /// Checks within one snapshot that the store holds together: the file, identities, required values, relationships,
    /// derived values, history, tombstones, positions and keys. It changes nothing, and takes as long as reading
    /// everything.
    ///
    /// - Parameter progress: takes the name of each check before it begins.
    /// - Throws: ``StoreError``; damage that a check comes upon is a problem in the report, not an error.
    public func verify(progress: (String) -> Void = { _ in }) throws -> VerificationReport {
        var last = ""
        return try verify(.ofOneSnapshot) { step in
            if step.check != last { progress(step.check) }
            last = step.check
        }
    }

    /// Checks the store slice by slice.
    ///
    /// - Parameters:
    ///   - slices: whether each slice has a snapshot of its own.
    ///   - progress: takes each check before it begins, and again after each slice.
    /// - Throws: as ``verify(progress:)``.
    package func verify(
        _ slices: VerificationSlices, progress: (VerificationStep) -> Void = { _ in }
    ) throws -> VerificationReport {
        let administration = try administration()
        return try read { try administration.verify($0, slices, progress: progress) }
    }

    /// Checks that the store still stands at its place, where others open it.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where it was removed or exchanged.
    package func checkPlace() throws(StoreError) { try storage.checkPlace() }

    /// Whether the storage failed or was found damaged, and nobody has verified the store since.
    ///
    /// A disk that failed once may have lost data that it reported as written. Such a store is verified before anybody
    /// writes it again. A failed fsync is never tried again.
    public var needsVerification: Bool { storage.needsVerification }

    /// Verifies the whole store where its storage failed, and takes the mark away where it is not damaged.
    ///
    /// - Parameter progress: takes each check before it begins, and again after each slice.
    /// - Throws: ``StoreError`` with code `store.corrupt` where it is.
    package func verifyIfNeeded(progress: (VerificationStep) -> Void = { _ in }) throws(StoreError) {
        guard needsVerification else { return }
        let report: VerificationReport
        do { report = try verify(.ofOneSnapshot, progress: progress) } catch {
            throw StoreError(error, action: "verify the store after a failed disk")
        }
        if report.isDamaged {
            throw StoreError(
                .corrupt, "After a failure of its disk the store has \(report.damageNumber)",
                remedy: StoreError.damageRemedy)
        }
        storage.noteSound()
    }

    /// Marks the store, so that nobody writes it before it is verified.
    package func noteDamage() { storage.note(.damaged) }

    func administration() throws(StoreError) -> any StorageAdministration {
        if let administration = storage as? any StorageAdministration { return administration }
        throw StoreError(
            .unavailable, "The storage '\(storage.path)' has no administration",
            remedy: "Keep the store in a file to verify or repair it")
    }
}
