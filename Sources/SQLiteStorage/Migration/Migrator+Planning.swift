// The plan of a migration: its steps, and the problems that prevent it.
extension Migrator {
    /// A store with the stages that are before it.
    struct Task {
        let stored: StoredModel
        /// The model that the store has.
        let source: ObjectModel
        /// The stages that are still to be run; none where the store serves the last one's model as it is.
        let pending: [MigrationStage]
        /// The model that the store gets.
        let target: ObjectModel

        /// The only stage, where there is one and no closures: it may be planned without running it.
        var inference: (target: ObjectModel, expressions: MigrationMapping?)? {
            guard pending.count == 1, case .lightweight(let model, let mapping) = pending[0] else { return nil }
            return (model, mapping)
        }

        var sourceText: String { "\(stored.name) \(stored.version)" }
        var targetText: String { "\(target.name) \(target.version)" }

        /// The model that a stage begins with.
        func source(of stage: Int) -> ObjectModel { stage == 0 ? source : pending[stage - 1].target }

        /// Checks, before a row is read, that the models alone forbid no stage.
        func checkModels() throws {
            for (index, stage) in pending.enumerated() {
                let mapping = ModelMapping(from: source(of: index), to: stage.target)
                try naming(index) { _ = try Migrator.check(mapping, stage.mapping) }
            }
        }

        /// The step that heads a stage of several.
        func head(of stage: Int) -> [MigrationPlan.Step] {
            if pending.count == 1 { return [] }
            let text = "stage \(stage + 1): \(names(of: stage))"
            return [MigrationPlan.Step(action: "stage", subject: nil, text: text, rowCount: nil)]
        }

        /// Calls `body`, and names the stage of several that it is about in what stands against it.
        func naming<Result>(_ stage: Int, _ body: () throws -> Result) throws -> Result {
            do {
                return try body()
            } catch let error as MigrationError where pending.count > 1 {
                throw MigrationError(
                    error.code, "Stage \(stage + 1), \(names(of: stage)): \(error.message)", remedy: error.remedy,
                    details: error.details)
            }
        }

        private func names(of stage: Int) -> String {
            let (old, new) = (source(of: stage), pending[stage].target)
            return "\(old.name) \(old.version) → \(new.name) \(new.version)"
        }
    }

    /// Returns the plan of a migration to a model, with the reasons against it; changes nothing.
    ///
    /// - Throws: ``StoreError``, ``MigrationError`` where the models alone forbid it, ``ModelError`` for the mapping.
    public func plan(to model: ObjectModel) throws -> MigrationPlan {
        try plan(through: [.lightweight(to: model, mapping: options.mapping)])
    }

    /// Returns the plan of a migration through stages. Several stages, and stages with closures, run in a transaction that is
    /// then undone. Only so the plan knows the rows that a later stage meets.
    ///
    /// - Throws: ``StoreError``, ``MigrationError``, ``ModelError``, and what a stage's closures throw.
    public func plan(through stages: [MigrationStage]) throws -> MigrationPlan {
        do {
            return try rehearse(stages)
        } catch {
            throw StoreError.translated(error, action: "plan the migration of \(path)")
        }
    }

    private func rehearse(_ stages: [MigrationStage]) throws -> MigrationPlan {
        let reading = try open(isReadOnly: true)
        defer { try? reading.close() }
        let task = try task(stages, reading)
        if task.pending.isEmpty { return emptyPlan(task.sourceText, from: task.source, to: task.target) }
        let format = try reading.formatVersion()
        // A rehearsal of stages writes, in a transaction that it undoes: its statements know the present layout only.
        let writes = task.inference == nil && format < Schema.formatVersion
        if writes || format < 3 && LayoutUpgrade(task.source).changesColumns {
            throw StoreError.olderFormat(path)
        }
        if let inference = task.inference { return try plan(inference, task, reading) }
        let file = try open(isReadOnly: false)
        defer { try? file.close() }
        return try MigrationStages(file: file, options: options, now: options.now()).rehearse(task)
    }

    func open(isReadOnly: Bool) throws -> MigrationFile {
        let file = try MigrationFile(path: path, isReadOnly: isReadOnly)
        if let count = options.maximumPageCount, !isReadOnly { try file.limitSize(pageCount: count) }
        return file
    }

    func task(_ stages: [MigrationStage], _ file: MigrationFile) throws -> Task {
        guard let last = stages.last?.target else {
            throw MigrationError(.missingStage, "There are no stages", remedy: "Name at least one")
        }
        let stored = try file.storedModel()
        // A store of a time when models were not kept may still be known by the hash.
        if stored.model == nil, stored.agreement(with: last) != .differs {
            return Task(stored: stored, source: last, pending: [], target: last)
        }
        let source = try sourceModel(stored)
        let pending = try MigrationStage.pending(stages, from: source)
        if !pending.isEmpty, stored.isNewer(than: last), !options.allowsOlderModel {
            throw MigrationError(
                .newerModel,
                "The store's model \(stored.name) \(stored.version) is newer than \(last.name) \(last.version)",
                remedy: "Use the newer model, or allow the older one expressly; the store is unharmed")
        }
        return Task(stored: stored, source: source, pending: pending, target: last)
    }

    private func sourceModel(_ stored: StoredModel) throws -> ObjectModel {
        if let model = stored.model { return model }
        guard let model = options.sourceModel else {
            throw MigrationError(
                .missingSource, "The store does not hold the model \(stored.name) \(stored.version) it was made with",
                remedy: "Name that model with 'migrate --from MODEL'; the store is unharmed")
        }
        guard model.hash == stored.hash else {
            throw MigrationError(
                .missingSource, "\(model.name) \(model.version) is not the model the store was made with",
                remedy: "Name the model with the hash \(stored.hash); the store is unharmed")
        }
        return model
    }

    /// Makes the plan that does nothing.
    ///
    /// - Parameter text: what the store has, in words.
    func emptyPlan(_ text: String, from source: ObjectModel, to target: ObjectModel) -> MigrationPlan {
        MigrationPlan(
            source: text, target: "\(target.name) \(target.version)",
            difference: ModelDifference(from: source, to: target), method: .none, steps: [], rowCount: 0, problems: [])
    }

    func plan(
        _ inference: (target: ObjectModel, expressions: MigrationMapping?), _ task: Task, _ file: MigrationFile
    ) throws -> MigrationPlan {
        let survey = try file.queue.read { database in
            try MigrationSurvey(ModelMapping(from: task.source, to: inference.target), inference.expressions, database)
        }
        return MigrationPlan(
            source: task.sourceText, target: task.targetText, difference: survey.difference,
            method: survey.rowCount >= options.copyRowThreshold ? .copy : .inPlace, steps: survey.steps,
            rowCount: survey.rowCount, problems: survey.problems, notes: survey.notes,
            losses: survey.losses)
    }

    /// Checks the models without looking at rows, and returns their difference.
    ///
    /// - Throws: ``ModelError`` for the mapping, ``MigrationError`` with code `migration.not_inferable`.
    static func check(_ mapping: ModelMapping, _ expressions: MigrationMapping?) throws -> ModelDifference {
        try expressions?.check(mapping)
        let difference = ModelDifference(from: mapping.old, to: mapping.new)
        let refusals = difference.refusals.filter { !isMapped($0, mapping.new, expressions) }
        if !refusals.isEmpty {
            throw MigrationError(
                .notInferable, "No migration follows from the models",
                remedy: "State renaming with renamedFrom, give a mapping, or change the model in several versions",
                details: refusals.map(\.description))
        }
        return difference
    }

    private static func isMapped(
        _ change: ModelDifference.Change, _ model: ObjectModel, _ expressions: MigrationMapping?
    ) -> Bool {
        guard change.kind == .typeChanged, let entity = model.entity(named: change.entity),
            let attribute = change.property.flatMap({ entity.attribute(named: $0) })
        else { return false }
        // An inherited attribute needs an expression for every entity that has objects.
        return model.entities.filter { $0.isKind(of: entity) && !$0.isAbstract }
            .allSatisfy { expressions?.expression(for: attribute, of: $0) != nil }
    }
}

extension MigrationError {
    static func rows(_ problems: [String]) -> MigrationError {
        MigrationError(
            .rows, "Rows stand against the migration",
            remedy: "Correct them, or give a default or a mapping; the store is as it was", details: problems)
    }
}
