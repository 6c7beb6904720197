import ArgumentParser
import GraphCore
import IngestCore
import Operations

struct StatusCommand: ReadingCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows a worker and its store on one screen: verdict, partitions, lag, dead letters, notifications.",
        discussion: """
            Asks the running worker at http.host and http.port. Where none answers for this store, it reads the store \
            alone, and says so. Ends with 75 unless a worker answers that is ready, and with 65 if dead letters degrade \
            its verdict.
            Example: ingest-worker status --json
            With --watch it shows the status on the terminal again each second, until q or Ctrl-C.
            Example: ingest-worker status --watch
            """)

    @OptionGroup var options: SharedOptions

    @Flag(help: "Prints the report as one JSON object.")
    var json = false

    @Flag(help: "Shows the status again each second, with curves of throughput and lag.")
    var watch = false

    var argumentOfOneStore: String? { watch ? "--watch" : nil }

    func validate() throws {
        if watch, json { throw ValidationError("--watch is for people: read --json in a loop instead.") }
    }

    func run() throws {
        let configuration = try options.load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        let source = StatusSource(configuration: configuration, model: model)
        if watch {
            if Terminal.output.isPresent { return try StatusWatch(source: source).run() }
            Console.note("Standard output is no terminal: the status is shown once")
        }
        let report = try source.report()
        Console.print(json ? report.json : report.text.visible)
        if report.ready != true { throw ExitCode(ExitStatus.tryAgain) }
        if report.hasTooManyLetters { throw ExitCode(ExitStatus.badData) }
    }
}
