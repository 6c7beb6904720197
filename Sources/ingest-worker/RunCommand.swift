import ArgumentParser
import IngestCore
import ObjectGraph

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Consumes the configured topics until it is told to stop (SIGTERM, SIGINT).",
        discussion: "Example: ingest-worker run --config config/worker.yaml --set store.path=data/store.sqlite")

    @OptionGroup var options: SharedOptions

    func run() async throws {
        let configuration = try options.load().configuration
        let logger = options.logger(configuration)
        let model = try ObjectModel.load(path: configuration.model)
        var hooks = WorkerRuntime.Hooks()
        let host = configuration.http.host
        hooks.onHTTPBound = { Console.note("http://\(host):\($0)") }
        let runtime = try WorkerRuntime(configuration: configuration, model: model, logger: logger, hooks: hooks)
        logger.info(
            "worker starts",
            metadata: ["version": "\(WorkerRuntime.version)", "store": "\(configuration.store.path)"])
        try await runtime.run()
        logger.info("worker stopped", metadata: ["records": "\(runtime.summary.records)"])
    }
}
