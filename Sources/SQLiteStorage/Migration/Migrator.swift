import Foundation

/// Migrates a store from the model that it keeps to another one.
///
/// The store's id, its numbering, keys, tombstones, positions and cursors stay. After any failure the store is either as
/// it was or wholly migrated.
public struct Migrator {
    /// How a migration goes about it.
    public struct Options {
        /// The mapping that computes values which cannot be inferred, for ``Migrator/migrate(to:)``; a stage has a
        /// mapping of its own.
        public var mapping: MigrationMapping?
        /// The model that the store was made with, for stores that do not hold it.
        public var sourceModel: ObjectModel?
        /// Keeps the copy of the old store after success; the plan says where.
        public var keepsBackup = false
        /// Keeps the copy of the old store also where the migration dropped something; the plan says where.
        public var keepsBackupOfLosses = false
        /// Decides whether a migration that drops something goes on; it does by default. Of a chain of copies each stage
        /// asks for its own losses. A refusal throws ``MigrationError`` with code `migration.losses`.
        public var allowsLosses: (MigrationLosses) throws -> Bool = { _ in true }
        /// The number of rows from which on new files are made, one for each stage, rather than one large transaction.
        public var copyRowThreshold: Int64 = 5_000_000
        /// The number of rows that are copied into the new file at a time.
        public var copyBatchRows = 50_000
        /// Migrates also to a model that the store has left behind.
        public var allowsOlderModel = false
        /// Tells the time, in microseconds since 1970 UTC.
        public var now: () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000_000) }
        /// Takes each step of the migration as it begins or goes on.
        public var progress: (Step) -> Void = { _ in }
        /// Takes each statement before it runs, so that a test can make it fail.
        var willExecute: (String) throws -> Void = { _ in }
        /// The number of pages beyond which a file may not grow, so that a test can fill the disk.
        var maximumPageCount: Int?
        /// Tells the running program from others with other closures.
        var program: () -> String = { MigrationStage.program }

        /// Makes options with their defaults.
        public init() {}

        /// Throws where losses are not allowed.
        func confirm(_ losses: MigrationLosses) throws {
            if !losses.isEmpty, try !allowsLosses(losses) { throw MigrationError.losses(losses) }
        }
    }

    /// A step of a migration that begins or goes on.
    public enum Step: Sendable, Equatable {
        /// The old store is copied beside itself.
        case backingUp
        /// So many rows are about to be copied. A stage in one transaction is a part of the migration, and so is each file
        /// of a chain of copies; they count from 1.
        case copying(rowCount: Int64, part: Int, partCount: Int)
        /// So many more rows were copied: of objects, or of the history, the dead letters and the like.
        case copied(rowCount: Int64, areObjects: Bool)
        /// The part has all its rows: links, indexes and derived values are made.
        case finishing
    }

    /// The store's path.
    public let path: String
    let options: Options

    /// Makes the migrator of the store at a path; of a symbolic link, the store that it leads to.
    public init(path: String, options: Options = Options()) {
        self.path = StoreSwap.destination(of: path)
        self.options = options
    }

    /// Where the copy of the old store is until the migration has succeeded.
    public var backupPath: String { path + ".before-migration" }

    // MARK: Migrating

    /// Migrates the store to a model; does nothing where it is of that model already, or where there is no store yet.
    ///
    /// A property that the new model does not have loses its values: ``plan(to:)`` tells before.
    ///
    /// - Throws: ``StoreError`` (`store.leased` while a worker has it), ``MigrationError``, ``ModelError``.
    @discardableResult
    public func migrate(to model: ObjectModel) throws -> MigrationPlan {
        if try !Store.exists(path: path) {
            return emptyPlan("no store", from: model, to: model)
        }
        return try migrate(through: [.lightweight(to: model, mapping: options.mapping)])
    }

    /// Migrates the store through stages, beginning with the stage of its model. It takes one transaction, or from
    /// ``Options/copyRowThreshold`` rows on a chain of copies that can be resumed.
    ///
    /// - Throws: ``StoreError``, ``MigrationError``, ``ModelError``, and what a stage's closures throw.
    @discardableResult
    public func migrate(through stages: [MigrationStage]) throws -> MigrationPlan {
        do {
            return try carryOut(stages)
        } catch {
            throw StoreError.translated(error, action: "migrate the store at \(path)")
        }
    }

    private func carryOut(_ stages: [MigrationStage]) throws -> MigrationPlan {
        for stage in stages { try Schema.checkLimits(stage.target) }
        let task = try open(isReadOnly: true).closing { try self.task(stages, $0) }
        // Opening brings a store of an older layout up to date. A copy would hide the damage of a disk that has failed.
        let store = try Store.open(path: path, model: task.source)
        do { try store.verifyIfNeeded() } catch {
            try? store.close()
            throw error
        }
        try store.close()
        let file = try open(isReadOnly: false)
        defer { try? file.close() }
        let now = options.now()
        let lease = try file.takeMigrationLease(task.source, now: now)
        do {
            guard try file.storedModel().hash == task.stored.hash else {
                throw StoreError(
                    .busy, "Another migration of the store at \(path) has just ended", remedy: "Migrate again")
            }
            let plan = try run(task, file, lease, now)
            return finish(plan, stages, now: now)
        } catch {
            try? file.release(lease, task.source)
            // Nothing was begun: there is nothing to keep a copy for.
            if error is MigrationError || error is ModelError {
                unlink(backupPath)
            }
            throw error
        }
    }

    private func run(_ task: Task, _ file: MigrationFile, _ lease: Lease, _ now: Int64) throws -> MigrationPlan {
        if task.pending.isEmpty {
            try file.transaction { database in
                try file.check(lease, task.source, database)
                try MigrationChain.clean(database)
                try StoredModel.record(task.target, in: database)
                try Lease.expire(in: database)
            }
            return emptyPlan(task.sourceText, from: task.source, to: task.target)
        }
        let rowCount = try file.queue.read { try MigrationFile.rowCounts(task.source, $0).values.reduce(0, +) }
        if rowCount >= options.copyRowThreshold {
            return try MigrationChain(
                task: task, rowCount: rowCount, file: file, lease: lease, now: now, options: options
            ).run(backup: backupPath)
        }
        if let inference = task.inference {
            let plan = try plan(inference, task, file)
            if !plan.problems.isEmpty { throw MigrationError.rows(plan.problems) }
            try options.confirm(plan.losses)
        }
        options.progress(.backingUp)
        try file.backUp(to: backupPath)
        do {
            return try MigrationStages(file: file, options: options, now: now).run(task, lease: lease)
        } catch {
            // The transaction was undone. After a failure of the disk the copy may be the only whole store.
            let failure = StoreError.translated(error, action: "migrate") as? StoreError
            if failure?.code != .inputOutput, failure?.code != .corrupt {
                unlink(backupPath)
            }
            throw error
        }
    }

    /// Removes the files that were made on the way, or gives the backup the name under which it is kept.
    private func finish(_ plan: MigrationPlan, _ stages: [MigrationStage], now: Int64) -> MigrationPlan {
        var plan = plan
        if FileManager.default.fileExists(atPath: backupPath), keepsBackup(of: plan, stages) {
            let time = Timestamp.text(now).prefix(19).filter { $0 != "-" && $0 != ":" }
            let kept = "\(path).backup-\(time)Z"
            plan.backup = (try? DurableFile.replace(kept, with: backupPath)) == nil ? backupPath : kept
        } else {
            unlink(backupPath)
        }
        MigrationChain.removeFiles(of: path)
        return plan
    }

    private func keepsBackup(of plan: MigrationPlan, _ stages: [MigrationStage]) -> Bool {
        if options.keepsBackup || !options.keepsBackupOfLosses { return options.keepsBackup }
        if plan.method != .none { return !plan.losses.isEmpty }
        // A run that was killed at its very end has left its backup to this one.
        let left = try? Migrator(path: backupPath, options: options).plan(through: stages)
        return left?.losses.isEmpty != true
    }
}
