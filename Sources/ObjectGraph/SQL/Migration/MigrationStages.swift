import Foundation
import GRDB

/// Carries stages out in one transaction.
struct MigrationStages {
    let file: MigrationFile
    let options: Migrator.Options
    let now: Int64

    private struct Rehearsed: Error {}

    /// Migrates through all stages under a lease, and gives that up.
    func run(_ task: Migrator.Task, lease: Lease) throws -> MigrationPlan {
        try file.transaction { database in
            try file.check(lease, task.source, database)
            let plan = try run(task, database)
            try options.willExecute("UPDATE _lease")
            try database.execute(sql: "UPDATE _lease SET expires = 0")
            return plan
        }
    }

    /// Migrates through all stages and undoes it.
    func rehearse(_ task: Migrator.Task) throws -> MigrationPlan {
        var plan: MigrationPlan?
        do {
            try file.transaction { database in
                try file.probeLease(task.source, now: now, database)
                plan = try run(task, database)
                throw Rehearsed()
            }
        } catch is Rehearsed {}
        guard let plan else { throw MigrationError(.missingStage, "There are no stages", remedy: "Name at least one") }
        return plan
    }

    private func run(_ task: Migrator.Task, _ database: Database) throws -> MigrationPlan {
        let total = try MigrationFile.rowCounts(task.source, database).values.reduce(0, +)
        var steps: [MigrationPlan.Step] = []
        var notes: [String] = []
        var current = task.source
        for (index, stage) in task.pending.enumerated() {
            let names = "\(current.name) \(current.version) → \(stage.target.name) \(stage.target.version)"
            if task.pending.count > 1 {
                let text = "stage \(index + 1): \(names)"
                steps.append(MigrationPlan.Step(action: "stage", subject: nil, text: text, rowCount: nil))
            }
            do {
                let done = try run(stage, from: current, database)
                steps += done.steps
                notes += done.notes
            } catch let error as MigrationError where task.pending.count > 1 {
                throw MigrationError(
                    error.code, "Stage \(index + 1), \(names): \(error.message)", remedy: error.remedy,
                    details: error.details)
            }
            current = stage.target
        }
        if total >= options.copyRowThreshold {
            notes.append(
                "these stages are one transaction: a new file is made only where one stage without closures is left")
        }
        return MigrationPlan(
            source: task.sourceText, target: task.targetText,
            difference: ModelDifference(from: task.source, to: task.target), method: .inPlace, steps: steps,
            rowCount: total, problems: [], notes: notes)
    }

    private func run(
        _ stage: MigrationStage, from source: ObjectModel, _ database: Database
    ) throws -> (steps: [MigrationPlan.Step], notes: [String]) {
        let mapping = ModelMapping(from: source, to: stage.target)
        let difference = try Migrator.check(mapping, stage.mapping)
        if case .custom(_, _, _, let willMigrate?, _) = stage {
            try options.willExecute("willMigrate")
            try willMigrate(MigrationContext(model: source, database: database))
        }
        let before = try script(mapping, stage.mapping, database, place: .untouched)
        let checks = MigrationChecks(script: before, difference: difference, database: database)
        let problems = try checks.problems()
        if !problems.isEmpty { throw MigrationError.rows(problems) }
        let steps = before.steps(try MigrationFile.rowCounts(mapping.old, database))
        let notes = try checks.notes()
        let run = MigrationRun(
            script: try script(mapping, stage.mapping, database), database: database, willExecute: options.willExecute)
        try run.runInPlace()
        if case .custom(_, _, _, _, let didMigrate?) = stage {
            try options.willExecute("didMigrate")
            try didMigrate(MigrationContext(model: stage.target, database: database))
            try run.execute(run.script.orderings)
        }
        try run.computeDerived(time: now)
        try run.record(time: now)
        try run.verify()
        if case .custom = stage { try verify(stage.target, database) }
        return (steps, notes)
    }

    /// Closures may write anything, so the store is verified whole; limits apply to later events.
    private func verify(_ model: ObjectModel, _ database: Database) throws {
        let report = try StoreVerifier(ReadContext(database: database, model: model)).verify { _ in }
        let problems = report.checks.filter { $0.name != "limits" && $0.name != "counts" }.flatMap(\.problems)
        if problems.isEmpty { return }
        throw MigrationError(
            .rows, "What the stage wrote does not hold together",
            remedy: "Correct the stage; the store is as it was", details: problems.prefix(20).map(\.description))
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
