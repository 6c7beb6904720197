import Foundation
import GraphCore
import PostgresStorage
import SQLiteStorage

/// The result of a restore.
package struct RestoreSummary: Sendable, Equatable {
    /// The place of the store.
    package let store: String
    /// The backup's file.
    package let file: String
    /// The place where the replaced store stays, or nil.
    package let kept: String?
    /// Views in other schemas of PostgreSQL that still read the replaced store.
    package let leftViews: [String]
    /// The number of the last transaction of the backup; 0 where there is none.
    package let lastTransaction: Int64
    /// How far the sources of the store's records were read.
    package let positions: [SourcePosition]

    /// Sentences for people.
    package var text: String {
        let old = kept.map { ". The replaced store is \($0)" } ?? ""
        return "The store at \(store) is that of \(file), up to transaction \(lastTransaction)\(old)"
    }

    /// An object with `store`, `file`, `kept`, `leftViews`, `lastTransaction` and `positions`.
    package var json: String {
        JSONObject([
            "store": store, "file": file, "kept": kept, "leftViews": leftViews, "lastTransaction": lastTransaction,
            "positions": positions.map(\.json),
        ]).json
    }
}

extension WorkerConfiguration {
    /// Puts a backup in the place of the configured store, or where there is none yet. The backup stays as it is.
    ///
    /// Readers see the old store or the restored one. A restore that ends early has happened wholly or not at all.
    ///
    /// - Parameters:
    ///   - file: the backup, a store of SQLite.
    ///   - keepsOld: whether the old store stays, under another name.
    ///   - progress: takes each step.
    ///   - atStep: called after each step that changes files or the server.
    /// - Throws: `StoreError`: `store.leased` while a worker writes the store. `store.unavailable`, `store.corrupt`,
    ///   `store.model_mismatch` or `store.newer_format` where the backup cannot be the store.
    package func restoreStore(
        from file: String, model: ObjectModel, keepsOld: Bool, progress: @escaping (StoreStep) -> Void = { _ in },
        atStep: @escaping (String) -> Void = { _ in }
    ) throws -> RestoreSummary {
        let isOfPresentLayout = try StoreBackup.check(file, model: model)
        let restore = Restore(file: file, model: model, keepsOld: keepsOld, progress: progress, atStep: atStep)
        guard case .postgres(let url) = storeKind else { return try self.restore(restore, path: store.path) }
        if isOfPresentLayout {
            let store = try Store.openForReading(path: file, model: model, options: storeOptions)
            defer { try? store.close() }
            return try self.restore(restore, store, url: url)
        }
        // Only a copy may be brought up to date.
        let folder = try DurableFile.makeUniqueFolder(
            in: FileManager.default.temporaryDirectory.path, prefix: "ingest-restore-")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let copy = "\(folder)/store.sqlite"
        progress(.writing(path: copy, byteCount: Self.size(of: file)))
        try StoreBackup.copyFile(file, to: copy)
        let store = try Store.open(path: copy, model: model)
        defer { try? store.close() }
        return try self.restore(restore, store, url: url)
    }

    private struct Restore {
        let file: String
        let model: ObjectModel
        let keepsOld: Bool
        let now = WriterContext.systemTime()
        let progress: (StoreStep) -> Void
        let atStep: (String) -> Void

        func verify(_ store: Store, meanwhile: () -> Void = {}) throws {
            let report = try store.verify(.ofOneSnapshot) { step in
                progress(StoreStep(step))
                meanwhile()
            }
            if let error = report.error(remedy: StoreBackup.damageRemedy) { throw error }
        }

        func summary(_ context: ReadContext, store: String, kept: String?, leftViews: [String] = []) throws
            -> RestoreSummary
        {
            RestoreSummary(
                store: store, file: file, kept: kept, leftViews: leftViews, lastTransaction: try context.lastToken(),
                positions: try context.positions())
        }
    }

    /// Restores into a file.
    private func restore(_ restore: Restore, path: String) throws -> RestoreSummary {
        let place = try StoreRestore(
            path: path, model: restore.model, keepsOld: restore.keepsOld, now: restore.now)
        defer { place.end() }
        restore.atStep("taken")
        restore.progress(.writing(path: place.copyPath, byteCount: Self.size(of: restore.file)))
        let copy = try place.copy(restore.file)
        defer { try? copy.close() }
        // The exchange tells whether the lease is lost.
        try restore.verify(copy) { try? place.keepLease() }
        let (summary, epochs) = try copy.read { context in
            (
                try restore.summary(context, store: storePlace, kept: place.kept),
                try context.epochs(replacing: place.oldEpochs(), now: restore.now)
            )
        }
        try copy.close()
        try place.exchange(epochs, atStep: restore.atStep)
        return summary
    }

    /// Restores into a schema of a PostgreSQL database.
    private func restore(_ restore: Restore, _ backup: Store, url: String) throws -> RestoreSummary {
        try restore.verify(backup)
        return try backup.read { context in
            let (kept, leftViews) = try Store.restoreInPostgres(
                context, url: url, options: postgresOptions, keepsOld: restore.keepsOld, now: restore.now,
                progress: { restore.progress(.copying(table: $0, rowCount: $1)) }, atStep: restore.atStep)
            return try restore.summary(
                context, store: storePlace, kept: kept.map { "the schema \($0)" }, leftViews: leftViews)
        }
    }
}
