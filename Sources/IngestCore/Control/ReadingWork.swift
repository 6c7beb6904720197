import Foundation
import GraphCore
import SQLiteStorage

/// A request that only reads the store, on a thread of its own.
///
/// It has its own connection to the store. So neither the writer nor a reader of the console waits for it.
struct ReadingWork: Sendable {
    let request: ControlRequest
    let configuration: WorkerConfiguration
    let model: ObjectModel
    /// When the request began, in microseconds since 1970 UTC. It names a backup, so that a repeated request finds it.
    let time: Int64
    /// The slices of a verification: many snapshots beside a worker that writes.
    var slices = VerificationSlices.ofOneSnapshot

    /// Does the whole request.
    ///
    /// - Parameters:
    ///   - onStep: takes each step of a verification or a backup.
    ///   - give: takes each line of an export, and throws where nobody wants more.
    /// - Throws: `StoreError`, ``ControlError``, and the errors of `give`.
    func run(
        onStep: @escaping (StoreStep) -> Void = { _ in }, give: (String) throws -> Void = { _ in }
    ) throws -> ControlResult {
        switch request {
        case .verify:
            return .verified(
                try reading { store in
                    let report = try store.verify(slices) { onStep(StoreStep($0)) }
                    if report.isFileDamaged { store.noteDamage() }
                    return report
                })
        case .backUp(let verifies): return .backedUp(try backUp(verifies: verifies, onStep))
        case .exportDeadLetters(let selection):
            return .exported(try reading { try export(selection, from: $0, give) })
        case .retryDeadLetters, .dropDeadLetters, .purgeHistory, .confirmPurges, .putCursor, .removeCursor,
            .dropConflicts:
            throw ControlError(
                .unknown, "The request '\(request.name)' needs the store's writer", remedy: "Send it to the worker")
        }
    }

    private func reading<Result>(_ body: (Store) throws -> Result) throws -> Result {
        let store = try configuration.openStoreForReading(model: model)
        defer { try? store.close() }
        return try body(store)
    }

    private func export(
        _ selection: DeadLetterSelection, from store: Store, _ give: (String) throws -> Void
    ) throws -> Int {
        var batches = try LetterBatches(selection, store, configuration.chunk)
        var count = 0
        // Several snapshots: a slow client must not keep the log of the store from being cut.
        while let batch = batches.next() {
            let letters = try store.read { context in try batch.compactMap { try context.deadLetter($0) } }
            for letter in letters { try give(DeadLetterLine.text(letter)) }
            count += letters.count
        }
        return count
    }

    private func backUp(verifies: Bool, _ onStep: @escaping (StoreStep) -> Void) throws -> BackupSummary {
        guard let folder = configuration.backup.folder else { throw ControlError.noBackupFolder }
        try DurableFile.makeFolder(folder)
        let name = configuration.isStoreInFile ? URL(filePath: configuration.store.path).deletingPathExtension() : nil
        let number = configuration.store.partition.map { "-\($0)" } ?? ""
        let prefix = "\(name?.lastPathComponent ?? "store\(number)")-"
        StoreBackup.removeLeftovers(in: folder, prefix: prefix)
        let stamp = Timestamp.text(time).filter { $0 != "-" && $0 != ":" }
        let file = "\(prefix)\(stamp).sqlite"
        let path = URL(filePath: folder).appending(path: file).path
        // The worker ended between the backup and its audit entry.
        if FileManager.default.fileExists(atPath: path) {
            return try configuration.summary(ofBackup: path, model: model, isVerified: verifies)
        }
        return try configuration.backUpStore(to: path, model: model, verifies: verifies, progress: onStep)
    }
}

extension WorkerConfiguration {
    /// Gives each selected dead letter of the store as a line that `replay` reads again.
    ///
    /// - Throws: `StoreError`, and the errors of `give`.
    package func exportDeadLetters(
        _ selection: DeadLetterSelection, model: ObjectModel, give: (String) throws -> Void
    ) throws {
        _ = try ReadingWork(
            request: .exportDeadLetters(selection), configuration: self, model: model, time: WriterContext.systemTime()
        ).run(give: give)
    }
}
