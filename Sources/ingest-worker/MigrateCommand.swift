import ArgumentParser
import IngestCore
import ObjectGraph

struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Migrates the store to the configured model, or shows the plan.",
        discussion: """
            The store is either migrated as a whole or left as it was. Stop the worker first. A --stages file names \
            the models to go through, each with a mapping if it needs one. A store in PostgreSQL is migrated in a temporary \
            file, and replaced in one transaction. With http.enabled the console shows the progress meanwhile, and the \
            probes answer. \
            Example: ingest-worker migrate --dry-run --set model=config/models/chat-2.yaml
            """)

    @OptionGroup var options: SharedOptions

    @Flag(help: "Shows the plan with the numbers of rows and the obstacles; changes nothing.")
    var dryRun = false

    @Option(help: "A YAML file with expressions for values that cannot be inferred.")
    var mapping: String?

    @Option(help: "A YAML file with the models to go through, the configured one last.")
    var stages: String?

    @Option(help: "The model that the store was made with, for stores that do not contain it.")
    var from: String?

    @Flag(help: "Keeps the old store: beside the file, or in a schema of another name.")
    var keepBackup = false

    @Flag(help: "Also migrates back to an earlier model of the store; values that only the newer model has are lost.")
    var allowOlder = false

    @Option(help: "From this number of rows on, the migration writes a new file per stage and can be resumed.")
    var copyFrom: Int64 = 5_000_000

    @Option(help: "The folder of the temporary copy of a store in PostgreSQL; the system's own by default.")
    var folder: String?

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
        let progress = ProgressPrinter(isShown: !json)
        progress.show(ProgressMeter.Step(dryRun ? "planning" : "migrating"))
        let began = WriterContext.systemTime()
        let console = dryRun ? nil : console(configuration, model, progress)
        let plan = try progress.finishing {
            try configuration.migrateStore(
                through: try stageList(to: model), options: migration, isDryRun: dryRun, folder: folder,
                progress: { step in
                    progress.show(step)
                    console?.show(step)
                })
        }
        show(plan)
        if !plan.problems.isEmpty {
            throw CommandError(
                code: ExitStatus.badData,
                description: "Rows prevent the migration. Correct them, or give a default or a --mapping")
        }
        if let backup = plan.backup { Console.note("The old store is \(backup)") }
        if !dryRun, plan.method != .none { try note(plan, configuration, model, began: began) }
    }

    /// Saves the migration in the audit of the new store.
    private func note(
        _ plan: MigrationPlan, _ configuration: WorkerConfiguration, _ model: ObjectModel, began: Int64
    ) throws {
        let store = try configuration.openStore(model: model)
        let writer = try WriterContext(store: store, options: configuration.writerOptions)
        let arguments = JSONObject(["from": plan.source, "to": plan.target])
        try CommandAudit("migrate", arguments.json, began: began, writer: writer)
            .end(result: JSONObject(["rows": plan.rowCount]).json)
        try writer.close()
    }

    /// Lets the console show the migration, or says why it cannot: the migration goes on without it.
    private func console(
        _ configuration: WorkerConfiguration, _ model: ObjectModel, _ progress: ProgressPrinter
    ) -> WorkConsole? {
        guard configuration.http.enabled else { return nil }
        let console = WorkConsole(
            .migration, configuration: configuration, model: model, logger: options.logger(configuration))
        do {
            progress.note("http://\(configuration.http.host):\(try console.listen())")
            return console
        } catch {
            let reason = (error as? HTTPServerError)?.message ?? "\(error)"
            progress.note("\(reason). The migration goes on without the console")
            return nil
        }
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
                    + "\(model.name) \(model.version). Name that model in the last stage, or set 'model'")
        }
        return list
    }

    private func show(_ plan: MigrationPlan) {
        Console.write(json ? plan.json + "\n" : plan.text)
    }
}
