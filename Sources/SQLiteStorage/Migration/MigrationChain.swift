import Foundation
import GRDB

/// Migrates a large store by copies beside it: each stage's file is filled from the one before, and the last takes the
/// store's place.
///
/// The store is only read until then, so a program of its model can go on with it whatever happens. Killed at any
/// moment, the next run takes over what is whole and goes on where it was. If anybody has written the store since then,
/// or the models, mappings or closures are others, the copies begin again.
struct MigrationChain {
    /// One file.
    struct Link {
        let stage: MigrationStage
        /// The stage's place among the stages that are run.
        let number: Int
        let old: ObjectModel
        /// Tells whether the rows stay in their old form, for a closure that works on it. The stage gets a file of its own,
        /// because the store itself is not touched.
        let isPreparation: Bool

        var new: ObjectModel { isPreparation ? old : stage.target }
        var mapping: ModelMapping { ModelMapping(from: old, to: new) }
        var expressions: MigrationMapping? { isPreparation ? nil : stage.mapping }

        var hasClosure: Bool {
            guard case .custom(_, _, _, let willMigrate, let didMigrate) = stage else { return false }
            return (isPreparation ? willMigrate : didMigrate) != nil
        }

        /// The steps that change the rows, as far as they are known.
        var text: String {
            "\(isPreparation) \(hasClosure) \(stage.source == nil)\n\(new.yaml)\n\(expressions?.signature ?? "")\n"
        }
    }

    let task: Migrator.Task
    /// The number of rows in the store's tables.
    let rowCount: Int64
    let file: MigrationFile
    let lease: Lease
    let now: Int64
    let options: Migrator.Options

    /// Carries the stages out.
    ///
    /// - Parameter backup: where the old store is kept.
    func run(backup: String) throws -> MigrationPlan {
        let links = links
        try task.checkModels()
        let origins = try origins(links)
        let taken = takeOver(origins)
        var (notes, losses) = (taken.notes, taken.losses)
        var steps: [MigrationPlan.Step] = []
        let keeper = MigrationLeaseKeeper(file: file, lease: lease, model: task.source, clock: options.now)
        for (index, link) in links.enumerated() {
            if index < taken.done {
                steps += try link.isPreparation ? [] : task.head(of: link.number) + doneSteps(link)
                continue
            }
            let source = index == 0 ? file.path : path(index - 1, of: links.count)
            try task.naming(link.number) {
                if !link.isPreparation {
                    let survey = try survey(link, source)
                    steps += task.head(of: link.number) + survey.steps
                    notes += survey.notes
                    try options.confirm(survey.losses)
                    losses.add(survey.losses)
                }
                try keeper.keep()
                try MigrationCopy(
                    link: link, source: source, path: path(index, of: links.count), origin: origins[index],
                    lease: keeper, now: now, options: options
                ).run(notes: notes, losses: losses, part: (index + 1, links.count))
            }
            try options.willExecute("done")
            if index > 0 { try? FileManager.default.removeItem(atPath: source) }
        }
        try swap(path(links.count - 1, of: links.count), backup: backup)
        return MigrationPlan(
            source: task.sourceText, target: task.targetText,
            difference: ModelDifference(from: task.source, to: task.target), method: .copy, steps: steps,
            rowCount: rowCount, problems: [], notes: notes, losses: losses)
    }

    private var links: [Link] {
        task.pending.enumerated().flatMap { number, stage in
            let old = task.source(of: number)
            var links = [Link(stage: stage, number: number, old: old, isPreparation: false)]
            if case .custom(_, _, _, _?, _) = stage {
                links.insert(Link(stage: stage, number: number, old: old, isPreparation: true), at: 0)
            }
            return links
        }
    }

    // MARK: What an earlier run left

    /// Returns the origin of each file: the store's state and the stages from which it is made.
    private func origins(_ links: [Link]) throws -> [MigrationCopy.Origin] {
        var text = try file.queue.read { database in
            let token = try Int64.fetchOne(database, sql: "SELECT max(token) FROM _history_transaction") ?? 0
            let store = try StoredModel.value("storeID", database) ?? ""
            return "\(store) \(token) \(Schema.formatVersion)\n\(task.source.yaml)\n"
        }
        return links.map { link in
            text += link.text
            // A closure cannot be compared, so the mark of its program stands for it.
            if link.hasClosure { text += options.program() + "\n" }
            return MigrationCopy.Origin(text: text, epoch: lease.holder.migratingSince ?? lease.epoch)
        }
    }

    /// Counts the files that are whole, reads the notes and losses of their stages, and removes files of no use.
    private func takeOver(_ origins: [MigrationCopy.Origin]) -> (
        done: Int, notes: [String], losses: MigrationLosses
    ) {
        let paths = origins.indices.map { path($0, of: origins.count) }
        for index in origins.indices.reversed() {
            if let (notes, losses) = MigrationCopy.notes(path: paths[index], origin: origins[index]) {
                Self.removeFiles(of: file.path, except: Array(paths[index...].prefix(2)))
                return (index + 1, notes, losses)
            }
        }
        Self.removeFiles(of: file.path, except: Array(paths.prefix(1)))
        return (0, [], MigrationLosses())
    }

    /// Where a file of several is while it is made.
    private func path(_ index: Int, of count: Int) -> String {
        "\(file.path).migrating\(index == count - 1 ? "" : "-\(index + 1)")"
    }

    /// Removes the files that migrations of a store have begun, but for some.
    static func removeFiles(of path: String, except kept: [String] = []) {
        let url = URL(fileURLWithPath: path)
        let folder = url.deletingLastPathComponent()
        let names = kept.map { URL(fileURLWithPath: $0).lastPathComponent }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasPrefix(url.lastPathComponent + ".migrating")
            && !names.contains(where: { name == $0 || name == $0 + "-journal" })
        {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }

    /// Removes from a store what it knew while it was a copy.
    static func clean(_ database: Database) throws {
        try database.execute(sql: "DROP TABLE IF EXISTS _migration")
    }

    // MARK: Plans

    private func survey(_ link: Link, _ source: String) throws -> MigrationSurvey {
        let survey = try MigrationFile(anyFile: source, isReadOnly: true).closing { source in
            try source.queue.read { database in
                try MigrationSurvey(link.mapping, link.expressions, database)
            }
        }
        if !survey.problems.isEmpty { throw MigrationError.rows(survey.problems) }
        return survey
    }

    /// The steps of a stage that an earlier run has carried out: the rows that it met are gone.
    private func doneSteps(_ link: Link) throws -> [MigrationPlan.Step] {
        let mapping = link.mapping
        return try MigrationScript(
            mapping, link.expressions, oldSchema: SchemaSnapshot(mapping.old), place: .untouched
        ).steps([:])
    }
}
