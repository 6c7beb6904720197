import ArgumentParser
import IngestCore
import ObjectGraph

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows a worker and its store on one screen: verdict, partitions, lag, dead letters, notifications.",
        discussion: """
            Asks the running worker at http.host and http.port. Where none answers for this store, it reads the store \
            alone, and says so. Ends with 75 if the worker is not ready.
            Example: ingest-worker status --json
            """)

    @OptionGroup var options: SharedOptions

    @Flag(help: "Prints the report as one JSON object.")
    var json = false

    func run() throws {
        let configuration = try options.load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        let report = try StatusSource(configuration: configuration, model: model).report()
        Console.print(json ? report.json : report.text)
        if report.ready == false { throw ExitCode(ExitStatus.tryAgain) }
    }
}
