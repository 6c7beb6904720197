import ArgumentParser
import GraphCore
import IngestCore
import Operations
import SQLiteStorage

struct MigrateCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Migrates the store to the configured model, or shows the plan.",
        discussion: """
            The store is either migrated as a whole or left as it was. Stop the worker first. A --stages file names \
            the models to go through, each with a mapping if it needs one. A store in PostgreSQL is migrated in a temporary \
            file, and replaced in one transaction. Before rows, links or values are dropped, it asks; without a terminal it \
            needs --allow-loss. It then keeps the old store. With http.enabled the console shows the progress meanwhile, and the \
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

    @Flag(help: "Also migrates back to an earlier model of the store.")
    var allowOlder = false

    @Flag(help: "Drops rows, links and values that the model has no place for, without a question.")
    var allowLoss = false

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
        migration.keepsBackupOfLosses = true
        let progress = ProgressPrinter(isShown: !json)
        migration.allowsLosses = { losses in progress.pausing { allows(losses) } }
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
        if dryRun || plan.method == .none { return }
        try CommandAudit.note(
            "migrate", JSONObject(["from": plan.source, "to": plan.target]).json,
            result: JSONObject(["rows": plan.rowCount]).json, began: began, in: configuration, model: model)
    }

    /// Asks whether the migration may drop something.
    private func allows(_ losses: MigrationLosses) -> Bool {
        if allowLoss { return true }
        return Terminal.asks(["The migration drops:"] + losses.lines.map { "  \($0)" }, "Drop them?") ?? false
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
        let difference = list.last.map { ModelDifference(from: $0.target, to: model) }
        if let last = list.last?.target, let difference, difference.needsMigration {
            throw CommandError(
                code: ExitStatus.configuration,
                description: "The stages lead to \(last.name) \(last.version), which is not the configured model "
                    + "\(model.name) \(model.version)\(difference.summary). Name that model in the last stage, or set 'model'"
            )
        }
        return list
    }

    private func show(_ plan: MigrationPlan) {
        Console.write(json ? plan.json + "\n" : plan.text)
    }
}
