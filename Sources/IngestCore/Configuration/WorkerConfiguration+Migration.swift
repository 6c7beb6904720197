import Foundation
import GraphCore
import PostgresStorage
import SQLiteStorage

/// How the configured store is migrated, and copied from one storage into the other.
extension WorkerConfiguration {
    /// Copies the store in a file into the configured store, which is in PostgreSQL and new.
    ///
    /// The file's lease is held meanwhile, so no worker writes it.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - progress: takes the name of a table and the number of its rows that are copied.
    /// - Throws: `StoreError`.
    package func copyStore(
        from path: String, model: ObjectModel, progress: @escaping (_ table: String, _ rowCount: Int) -> Void
    ) throws {
        let url = try urlForCopy()
        guard try Store.exists(path: path) else {
            throw StoreError(.unavailable, "There is no store at \(path)", remedy: "Name the file of a store")
        }
        let source = try Store.open(path: path, model: model, options: storeOptions)
        let writer = try WriterContext(store: source, options: writerOptions)
        defer { try? writer.close() }
        try source.read { try Store.copyToPostgres($0, url: url, options: postgresOptions, progress: progress) }
    }

    /// Copies the configured store, which is in PostgreSQL, into a new file. No worker writes it meanwhile.
    ///
    /// - Parameters: as of ``copyStore(from:model:progress:)``.
    /// - Throws: `StoreError` with code `store.leased` while a worker has the store.
    package func copyStore(
        to path: String, model: ObjectModel, progress: @escaping (_ table: String, _ rowCount: Int) -> Void
    ) throws {
        _ = try Store.replaceInPostgres(
            url: try urlForCopy(), options: postgresOptions, sourceModel: model, keepsOld: true
        ) { store, _, _ in try Store.copyToFile(store, path: path, progress: progress) }
    }

    private func urlForCopy() throws(StoreError) -> String {
        if case .postgres(let url) = storeKind { return url }
        throw StoreError(
            .unavailable, "Could not copy the store: the configured one is a file",
            remedy: "Name a PostgreSQL database in store.url, or copy the file with 'ingest-worker backup'")
    }

    // MARK: Migration

    /// Migrates the configured store, or plans it.
    ///
    /// A store in PostgreSQL is copied into a file of a temporary folder, and migrated there. A second schema is filled
    /// from it, and takes the place of the old one at once. After a kill the next run goes on in this folder and schema.
    ///
    /// - Parameters:
    ///   - isDryRun: whether nothing is changed.
    ///   - folder: where the temporary folder stands; nil is the system's folder for them.
    ///   - progress: takes how far the migration is.
    /// - Throws: `StoreError`, `MigrationError`, `ModelError`.
    package func migrateStore(
        through stages: [MigrationStage], options: Migrator.Options, isDryRun: Bool, folder: String?,
        progress: @escaping (ProgressMeter.Step) -> Void = { _ in }
    ) throws -> MigrationPlan {
        var steps = MigrationProgress()
        var options = options
        options.progress = { progress(steps.apply($0)) }
        func migrate(_ path: String, _ options: Migrator.Options) throws -> MigrationPlan {
            let migrator = Migrator(path: path, options: options)
            return isDryRun ? try migrator.plan(through: stages) : try migrator.migrate(through: stages)
        }
        guard case .postgres(let url) = storeKind else {
            return routed(try migrate(store.path, options), stages)
        }
        var plan = MigrationPlan?.none
        var work = MigrationWork?.none
        do {
            let backup = try Store.replaceInPostgres(
                url: url, options: postgresOptions, sourceModel: options.sourceModel, target: stages.last?.target,
                keepsOld: isDryRun || options.keepsBackup
            ) { old, state, replace in
                let begun = try MigrationWork(
                    parent: folder, store: isDryRun ? nil : try old.session.storeID(),
                    of: [state] + stages.map(\.signature))
                work = begun
                if !begun.hasCopy {
                    progress(steps.begin("copying from the server", rowCount: try old.rowCountForCopy()))
                    try Store.copyToFile(old, path: begun.path) { progress(steps.pass(table: $0, rowCount: $1)) }
                }
                var own = options
                (own.keepsBackup, own.keepsBackupOfLosses) = (false, false)
                own.allowsLosses = { losses in
                    if try !options.allowsLosses(losses) { return false }
                    try begun.note(losses)
                    return true
                }
                let made = try begun.whole(try migrate(begun.path, own), old: old, target: stages.last?.target)
                plan = made
                guard !isDryRun, made.method != .none, let model = stages.last?.target else { return }
                let migrated = try Store.openForReading(path: begun.path, model: model, options: storeOptions)
                defer { try? migrated.close() }
                try migrated.read { new in
                    progress(steps.begin("copying to the server", rowCount: try new.rowCountForCopy()))
                    let keepsOld = options.keepsBackupOfLosses && !made.losses.isEmpty
                    try replace(new, begun.name, keepsOld) { progress(steps.pass(table: $0, rowCount: $1)) }
                }
            }
            work?.remove()
            plan?.backup = backup.map { "the schema \($0)" }
        } catch {
            // After a failure that may pass, such as a lost connection, the next run goes on.
            if isDryRun || (error as? any CodedError)?.isRetriable != true { work?.remove() }
            throw error
        }
        guard let plan else { throw StoreError.closed }
        return routed(plan, stages)
    }

    /// Returns a plan with the lines that the routes need after it.
    private func routed(_ plan: MigrationPlan, _ stages: [MigrationStage]) -> MigrationPlan {
        guard let model = stages.last?.target else { return plan }
        var plan = plan
        plan.routeLines = FormerNames(plan.difference, model).lines(for: self)
        return plan
    }
}
