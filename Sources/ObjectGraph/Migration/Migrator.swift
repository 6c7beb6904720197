import Foundation

/// Migrates a store from the model that it keeps to another one.
///
/// The store's id, its numbering, keys, tombstones, positions and cursors stay. Whatever happens, the store is either as
/// it was or wholly migrated.
public struct Migrator {
    /// How a migration goes about it.
    public struct Options {
        /// Computes what cannot be inferred.
        public var mapping: MigrationMapping?
        /// The model that the store was made with, for stores that do not hold it.
        public var sourceModel: ObjectModel?
        /// Keeps the copy of the old store after success.
        public var keepsBackup = false
        /// The number of rows from which on a new file is made rather than one large transaction.
        public var copyRowThreshold: Int64 = 5_000_000
        /// The number of rows that are copied into the new file at a time.
        public var copyBatchRows = 50_000
        /// Migrates also to a model that the store has left behind.
        public var allowsOlderModel = false
        /// Tells the time, in microseconds since 1970 UTC.
        public var now: () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000_000) }
        /// Is told how many rows were copied.
        public var progress: (Int64) -> Void = { _ in }
        /// Is told of each statement before it runs, so that a test can make it fail.
        var willExecute: (String) throws -> Void = { _ in }

        /// Makes options with their defaults.
        public init() {}
    }

    /// The store's path.
    public let path: String
    private let options: Options

    /// Makes the migrator of the store at a path.
    public init(path: String, options: Options = Options()) {
        self.path = path
        self.options = options
    }

    /// Where the copy of the old store is kept until the migration has succeeded.
    public var backupPath: String { path + ".before-migration" }

    // MARK: Planning

    /// Says what migrating to a model would do, and what stands against it; changes nothing.
    ///
    /// - Throws: ``StoreError``, ``MigrationError`` where the models alone forbid it, ``ModelError`` for the mapping.
    public func plan(to model: ObjectModel) throws -> MigrationPlan {
        let file = try MigrationFile(path: path, isReadOnly: true)
        defer { try? file.close() }
        let stored = try file.storedModel()
        if stored.agreement(with: model) != .differs { return emptyPlan(stored, model) }
        return try plan(to: model, stored, file).plan
    }

    private func emptyPlan(_ stored: StoredModel, _ model: ObjectModel) -> MigrationPlan {
        MigrationPlan(
            source: "\(stored.name) \(stored.version)", target: "\(model.name) \(model.version)",
            difference: ModelDifference(from: stored.model ?? model, to: model), method: .none, steps: [], rowCount: 0,
            problems: [])
    }

    private func plan(
        to model: ObjectModel, _ stored: StoredModel, _ file: MigrationFile
    ) throws -> (plan: MigrationPlan, mapping: ModelMapping) {
        let source = try sourceModel(stored)
        if stored.isNewer(than: model), !options.allowsOlderModel {
            throw MigrationError(
                .newerModel, "The store's model \(stored.name) \(stored.version) is newer than \(model.version)",
                remedy: "Use the newer model, or allow the older one expressly; the store is unharmed")
        }
        let mapping = ModelMapping(from: source, to: model)
        try options.mapping?.check(mapping)
        let difference = ModelDifference(from: source, to: model)
        let refusals = difference.refusals.filter { !isMapped($0, model) }
        if !refusals.isEmpty {
            throw MigrationError(
                .notInferable, "No migration follows from the models",
                remedy: "State renaming with renamedFrom, give a mapping, or change the model in several versions",
                details: refusals.map(\.description))
        }
        return try file.queue.read { database in
            let functions = MigrationFunctions()
            functions.install(in: database)
            let script = MigrationScript(
                mapping,
                columns: MigrationColumns(mapping: mapping, expressions: options.mapping, functions: functions),
                oldSchema: try SchemaSnapshot(database), newSchema: try SchemaSnapshot(model), place: .untouched)
            let counts = try MigrationFile.rowCounts(source, database)
            let total = counts.values.reduce(0, +)
            let problems = try MigrationChecks(script: script, difference: difference, database: database).problems()
            let plan = MigrationPlan(
                source: "\(stored.name) \(stored.version)", target: "\(model.name) \(model.version)",
                difference: difference, method: total >= options.copyRowThreshold ? .copy : .inPlace,
                steps: script.steps(counts), rowCount: total, problems: problems)
            return (plan, mapping)
        }
    }

    private func isMapped(_ change: ModelDifference.Change, _ model: ObjectModel) -> Bool {
        guard change.kind == .typeChanged, let entity = model.entity(named: change.entity),
            let attribute = change.property.flatMap({ entity.attribute(named: $0) })
        else { return false }
        return options.mapping?.expression(for: attribute, of: entity) != nil
    }

    private func sourceModel(_ stored: StoredModel) throws -> ObjectModel {
        if let model = stored.model { return model }
        guard let model = options.sourceModel else {
            throw MigrationError(
                .missingSource, "The store does not hold the model \(stored.name) \(stored.version) it was made with",
                remedy: "Open it once with that model, or name that model; the store is unharmed")
        }
        guard model.hash == stored.hash else {
            throw MigrationError(
                .missingSource, "\(model.name) \(model.version) is not the model the store was made with",
                remedy: "Name the model with the hash \(stored.hash); the store is unharmed")
        }
        return model
    }

    // MARK: Migrating

    /// Migrates the store to a model; does nothing where it is of that model already.
    ///
    /// - Throws: ``StoreError`` (`store.leased` while a worker has it), ``MigrationError``, ``ModelError``.
    @discardableResult
    public func migrate(to model: ObjectModel) throws -> MigrationPlan {
        try migrate(through: [.lightweight(to: model)])
    }

    /// Migrates the store through stages, beginning with the one that its model is at, in one transaction.
    ///
    /// - Throws: ``StoreError``, ``MigrationError``, ``ModelError``, and what a stage's closures throw.
    @discardableResult
    public func migrate(through stages: [MigrationStage]) throws -> MigrationPlan {
        guard let last = stages.last?.target else {
            throw MigrationError(.missingStage, "There are no stages", remedy: "Name at least one")
        }
        let file = try MigrationFile(path: path, isReadOnly: false)
        defer { try? file.close() }
        let stored = try file.storedModel()
        if stored.agreement(with: last) != .differs {
            try file.transaction { try StoredModel.record(last, in: $0) }
            removeLeftovers()
            return emptyPlan(stored, last)
        }
        let source = try sourceModel(stored)
        // Opening brings a store of an older layout up to date.
        try Store.open(path: path, model: source).close()
        let pending = try MigrationStage.pending(stages, from: source)
        let now = options.now()
        let lease = try file.takeLease(source, now: now)
        do {
            let plan = try run(pending, last, stored, file, lease, now)
            removeLeftovers()
            return plan
        } catch {
            try? file.release(lease, source)
            throw StoreError.translated(error, action: "migrate the store at \(path)")
        }
    }

    private func run(
        _ stages: [MigrationStage], _ last: ObjectModel, _ stored: StoredModel, _ file: MigrationFile, _ lease: Lease,
        _ now: Int64
    ) throws -> MigrationPlan {
        guard stages.count == 1, case .lightweight(let model) = stages[0] else {
            try file.backUp(to: backupPath)
            return try MigrationStages(file: file, options: options, lease: lease, now: now).run(stages, stored)
        }
        let (plan, mapping) = try plan(to: model, stored, file)
        if !plan.problems.isEmpty {
            throw MigrationError(
                .rows, "Rows stand against the migration",
                remedy: "Mend them, or give a default or a mapping; the store is as it was",
                details: plan.problems)
        }
        if plan.method == .copy {
            try MigrationCopy(
                file: file, mapping: mapping, expressions: options.mapping, lease: lease, now: now,
                batchRows: options.copyBatchRows, willExecute: options.willExecute, progress: options.progress
            ).run(backup: backupPath)
            return plan
        }
        try file.backUp(to: backupPath)
        try file.transaction { database in
            try file.check(lease, mapping.old, database)
            try MigrationStages(file: file, options: options, lease: lease, now: now)
                .migrate(mapping, options.mapping, database)
            try database.execute(sql: "UPDATE _lease SET expires = 0")
        }
        return plan
    }

    private func removeLeftovers() {
        if !options.keepsBackup { try? FileManager.default.removeItem(atPath: backupPath) }
        for suffix in ["", "-journal"] {
            try? FileManager.default.removeItem(atPath: MigrationCopy.siblingPath(of: path) + suffix)
        }
    }
}
