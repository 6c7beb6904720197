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
            // The losses of a single stage were known before.
            if task.inference == nil { try options.confirm(plan.losses) }
            try options.willExecute("UPDATE _lease")
            try Lease.expire(in: database)
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

    /// Carries the stages out, each surveyed after the one before has run.
    ///
    /// Example: one stage fills an optional attribute, and the next one requires it. A survey of both at the start would
    /// refuse the rows that the first stage fills.
    private func run(_ task: Migrator.Task, _ database: Database) throws -> MigrationPlan {
        try task.checkModels()
        let total = try MigrationFile.rowCounts(task.source, database).values.reduce(0, +)
        var steps: [MigrationPlan.Step] = []
        var notes: [String] = []
        var losses = MigrationLosses()
        for (index, stage) in task.pending.enumerated() {
            let survey = try task.naming(index) {
                try run(stage, from: task.source(of: index), (index + 1, task.pending.count), database)
            }
            steps += task.head(of: index) + survey.steps
            notes += survey.notes
            losses.add(survey.losses)
        }
        return MigrationPlan(
            source: task.sourceText, target: task.targetText,
            difference: ModelDifference(from: task.source, to: task.target),
            method: total >= options.copyRowThreshold ? .copy : .inPlace, steps: steps, rowCount: total, problems: [],
            notes: notes, losses: losses)
    }

    private func run(
        _ stage: MigrationStage, from source: ObjectModel, _ part: (number: Int, count: Int), _ database: Database
    ) throws -> MigrationSurvey {
        let mapping = ModelMapping(from: source, to: stage.target)
        try stage.prepare(from: source, database, options.willExecute)
        let survey = try MigrationSurvey(mapping, stage.mapping, database)
        if !survey.problems.isEmpty { throw MigrationError.rows(survey.problems) }
        let script = try MigrationScript(mapping, stage.mapping, database, place: .sameFile)
        let run = MigrationRun(script: script, database: database, options: options)
        try run.runInPlace(part)
        try run.conclude(stage, time: now)
        return survey
    }
}

extension MigrationStage {
    /// Calls the closure that works on the rows in their old form.
    func prepare(
        from source: ObjectModel, _ database: Database, _ willExecute: (String) throws -> Void
    ) throws {
        guard case .custom(_, _, _, let willMigrate?, _) = self else { return }
        try willExecute("willMigrate")
        try willMigrate(MigrationContext(model: source, database: database))
    }
}

extension MigrationRun {
    /// Does a stage's remaining work when all rows are in their new form.
    func conclude(_ stage: MigrationStage, time: Int64) throws {
        if case .custom(_, _, _, _, let didMigrate?) = stage {
            try options.willExecute("didMigrate")
            try didMigrate(MigrationContext(model: mapping.new, database: database))
            try execute(script.orderings)
        }
        try computeDerived(time: time)
        try record(time: time)
        try verify()
        if case .custom = stage { try verifyWhole() }
    }

    /// Closures may write anything, so the store is verified whole; limits apply to later events.
    private func verifyWhole() throws {
        let report = try SQLiteVerifier(ReadContext(database: database, model: mapping.new)).verify()
        if !report.isDamaged { return }
        throw MigrationError(
            .rows, "The rows that the stage wrote contradict each other",
            remedy: "Correct the stage; the store is as it was", details: report.damage.prefix(20).map(\.description))
    }
}
