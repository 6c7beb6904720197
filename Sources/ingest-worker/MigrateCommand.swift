import ArgumentParser
import IngestCore
import ObjectGraph

struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Migrates the store to the configured model, or says what that would do.",
        discussion: """
            The store is either migrated wholly or left as it was. Stop the worker first. A file of --stages names the \
            models to go through, each with a mapping where one is needed. \
            Example: ingest-worker migrate --dry-run --set model=config/models/chat-2.yaml
            """)

    @OptionGroup var options: SharedOptions

    @Flag(help: "Shows the plan with the numbers of rows, and what stands against it; changes nothing.")
    var dryRun = false

    @Option(help: "A YAML file with expressions for what cannot be inferred.")
    var mapping: String?

    @Option(help: "A YAML file with the models to go through, the configured one last.")
    var stages: String?

    @Option(help: "The model that the store was made with, for stores that do not hold it.")
    var from: String?

    @Flag(help: "Keeps the copy of the old store beside it.")
    var keepBackup = false

    @Flag(help: "Migrates also to a model that the store has left behind; what only the newer one has is lost.")
    var allowOlder = false

    @Option(help: "The number of rows from which on new files are made, a stage each, which can be resumed.")
    var copyFrom: Int64 = 5_000_000

    @Flag(help: "Prints JSON.")
    var json = false

    func validate() throws {
        if mapping != nil, stages != nil {
            throw ValidationError("Give --mapping or --stages: a stage has its mapping under 'entities'.")
        }
    }

    func run() throws {
        let configuration = try options.load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        var migration = Migrator.Options()
        migration.sourceModel = try from.map { try ObjectModel.load(path: $0) }
        migration.keepsBackup = keepBackup
        migration.allowsOlderModel = allowOlder
        migration.copyRowThreshold = copyFrom
        let migrator = Migrator(path: configuration.store.path, options: migration)
        let stages = try stageList(to: model)
        let plan = dryRun ? try migrator.plan(through: stages) : try migrator.migrate(through: stages)
        show(plan)
        if !plan.problems.isEmpty {
            throw CommandError(
                code: ExitStatus.badData,
                description: "Rows stand against the migration. Mend them, or give a default or a --mapping")
        }
        if let backup = plan.backup { Console.note("The old store is \(backup)") }
    }

    private func stageList(to model: ObjectModel) throws -> [MigrationStage] {
        guard let stages else {
            return [.lightweight(to: model, mapping: try mapping.map { try MigrationMapping.load(path: $0) })]
        }
        let list = try MigrationStage.load(path: stages)
        if let last = list.last?.target, ModelDifference(from: last, to: model).needsMigration {
            throw CommandError(
                code: ExitStatus.configuration,
                description: "The stages lead to \(last.name) \(last.version), which is not the configured model "
                    + "\(model.name) \(model.version). Let the last stage name that model, or set 'model'")
        }
        return list
    }

    private func show(_ plan: MigrationPlan) {
        guard json else {
            Console.write(plan.text)
            return
        }
        Console.printJSON(plan.appendJSON)
    }
}
