import ArgumentParser
import GraphCore
import IngestCore
import Operations

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Shows a store in a browser, without a broker and without a worker.",
        discussion: """
            It serves the worker's console at http.host and http.port until SIGTERM or SIGINT: objects, changes, dead \
            letters and the model. It only reads the store. A running worker has the same console itself.
            Example: ingest-worker console --config imported/worker.yaml
            """)

    @OptionGroup var options: SharedOptions

    func run() async throws {
        // A configuration whose worker has no server is checked as one that serves.
        let configuration = try options.load(fixed: ["http.enabled=true"]).configuration
        let host = configuration.http.host
        let console = try StoreConsole(
            configuration: configuration, model: try ObjectModel.load(path: configuration.model),
            logger: options.logger(configuration)
        ) { Console.note("http://\(host):\($0)") }
        try await console.run()
    }
}
