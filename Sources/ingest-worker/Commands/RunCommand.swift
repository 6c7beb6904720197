import ArgumentParser
import Foundation
import GraphCore
import IngestCore
import Logging
import Operations

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Consumes the configured topics until SIGTERM or SIGINT.",
        discussion: """
            With --rebuild it first builds a new store beside the old one, from the beginning of the topics. When the new \
            store has caught up, it replaces the old one, and the worker runs as usual. A killed rebuild continues at the \
            next run. At SIGHUP the worker reads its configuration again. Routes, limits and the log's level change at \
            once; the log names the settings that need a restart.
            Example: ingest-worker run --config config/worker.yaml --set store.path=data/store.sqlite
            Example: ingest-worker run --rebuild --set http.port=8081
            """)

    @OptionGroup var options: SharedOptions

    @Flag(
        help: """
            Rebuilds the store before running; the old store stays readable, afterwards as STORE.before-rebuild or, in \
            PostgreSQL, as the schema SCHEMA_before_rebuild.
            """)
    var rebuild = false

    @Flag(help: "With --rebuild: continues even if the topics lack records that the old store has read.")
    var allowPartial = false

    func validate() throws {
        if allowPartial, !rebuild { throw ValidationError("--allow-partial is for --rebuild") }
    }

    func run() async throws {
        // The default of SIGHUP ends the process; until the services listen, what was just read is the configuration.
        signal(SIGHUP, SIG_IGN)
        let configuration = try options.load(takesAllStores: true).configuration
        let logger = options.logger(configuration)
        Console.endInLog(logger)
        let model = try ObjectModel.load(path: configuration.model)
        var hooks = WorkerRuntime.Hooks()
        hooks.readConfiguration = options.reading
        let host = configuration.http.host
        hooks.onHTTPBound = { Console.note("http://\(host):\($0)") }
        // One for the process: the worker that rebuilds a store ends before the one that reads into it starts.
        hooks.notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        guard let notifier = hooks.notifier else { return try await run(configuration, model, logger, hooks) }
        try await notifier.whileRunning { try await run(configuration, model, logger, hooks) }
    }

    private func run(
        _ configuration: WorkerConfiguration, _ model: ObjectModel, _ logger: Logger, _ hooks: WorkerRuntime.Hooks
    ) async throws {
        if configuration.hasStoreForEachPartition {
            if rebuild { throw ValidationError("--rebuild builds one store: choose it with --store") }
            let supervisor = try PartitionSupervisor(
                configuration: configuration, model: model, logger: logger, hooks: hooks)
            logger.info(
                "workers start",
                metadata: configuration.connections.merging(["version": "\(ProgramVersion.text)"]) { $1 })
            try await supervisor.run()
            logger.info("workers stopped")
            return
        }
        if rebuild {
            var hooks = hooks
            hooks.onRebuildStep = StepKill.dieWhereATestSays
            let rebuild = try StoreRebuild(
                configuration: configuration, model: model, logger: logger, hooks: hooks, allowsPartial: allowPartial)
            if try await rebuild.run() == .stopped { return }
        }
        let runtime = try await WorkerRuntime.open(
            configuration: configuration, model: model, logger: logger, hooks: hooks)
        logger.info(
            "worker starts",
            metadata: configuration.connections.merging(["version": "\(ProgramVersion.text)"]) { $1 })
        try await runtime.run()
        logger.info("worker stopped", metadata: ["records": .stringConvertible(runtime.metrics.records.value)])
    }
}
