import Foundation
import GRDB

/// Carries stages out in one transaction.
struct MigrationStages {
    let file: MigrationFile
    let options: Migrator.Options
    let lease: Lease
    let now: Int64

    func run(_ stages: [MigrationStage], _ stored: StoredModel) throws -> MigrationPlan {
        guard let source = stored.model ?? options.sourceModel, let last = stages.last?.target else {
            throw MigrationError(.missingStage, "There are no stages", remedy: "Name at least one")
        }
        return try file.transaction { database in
            try file.check(lease, source, database)
            let total = try MigrationFile.rowCounts(source, database).values.reduce(0, +)
            var steps: [MigrationPlan.Step] = []
            var current = source
            for stage in stages {
                steps += try run(stage, from: current, database)
                current = stage.target
            }
            try database.execute(sql: "UPDATE _lease SET expires = 0")
            return MigrationPlan(
                source: "\(stored.name) \(stored.version)", target: "\(last.name) \(last.version)",
                difference: ModelDifference(from: source, to: last), method: .inPlace, steps: steps, rowCount: total,
                problems: [])
        }
    }

    private func run(
        _ stage: MigrationStage, from source: ObjectModel, _ database: Database
    ) throws -> [MigrationPlan.Step] {
        let mapping = ModelMapping(from: source, to: stage.target)
        if case .custom(_, _, let willMigrate?, _) = stage {
            try willMigrate(MigrationContext(model: source, database: database))
        }
        let steps = try migrate(mapping, options.mapping, database)
        if case .custom(_, let target, _, let didMigrate?) = stage {
            try didMigrate(MigrationContext(model: target, database: database))
            let run = MigrationRun(
                script: try script(mapping, nil, database), database: database, willExecute: options.willExecute)
            try run.computeDerived(time: now)
            try run.verify()
        }
        return steps
    }

    /// Migrates the tables in the transaction that is open.
    @discardableResult
    func migrate(
        _ mapping: ModelMapping, _ expressions: MigrationMapping?, _ database: Database
    ) throws -> [MigrationPlan.Step] {
        let difference = ModelDifference(from: mapping.old, to: mapping.new)
        let before = try script(mapping, expressions, database, place: .untouched)
        let problems = try MigrationChecks(script: before, difference: difference, database: database).problems()
        if !problems.isEmpty {
            throw MigrationError(
                .rows, "Rows stand against the migration",
                remedy: "Mend them, or give a default or a mapping; the store is as it was", details: problems)
        }
        let steps = before.steps(try MigrationFile.rowCounts(mapping.old, database))
        let run = MigrationRun(
            script: try script(mapping, expressions, database), database: database, willExecute: options.willExecute)
        try run.runInPlace()
        try run.computeDerived(time: now)
        try run.record(time: now)
        try run.verify()
        return steps
    }

    private func script(
        _ mapping: ModelMapping, _ expressions: MigrationMapping?, _ database: Database,
        place: MigrationScript.Place = .sameFile
    ) throws -> MigrationScript {
        let functions = MigrationFunctions()
        functions.install(in: database)
        return MigrationScript(
            mapping, columns: MigrationColumns(mapping: mapping, expressions: expressions, functions: functions),
            oldSchema: try SchemaSnapshot(database), newSchema: try SchemaSnapshot(mapping.new), place: place)
    }
}
