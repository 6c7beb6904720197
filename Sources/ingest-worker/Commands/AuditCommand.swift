import ArgumentParser
import GraphCore
import IngestCore

struct AuditCommand: ReadingCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Lists the administrative requests to the store: who, what, when, and the result.",
        discussion: """
            Each request of a command or of HTTP that the store's writer carried out is listed, the last first. A \
            request is unfinished while it is under way, or if its worker ended before it did. Requests without the \
            operator's token are folded to one entry a minute. The worker removes entries at the age of audit.keepDays.
            Example: ingest-worker audit --limit 20
            """)

    @OptionGroup var options: SharedOptions

    @Option(help: "Only requests before this number.")
    var before: Int64?

    @Option(help: "The maximum number of requests.")
    var limit = 100

    @OptionGroup var form: ListForm

    var argumentOfOneStore: String? { before.map { _ in "The number of --before" } }

    func run() throws {
        let store = try options.openForReading()
        for entry in try store.read({ try $0.auditEntries(before: before ?? .max, limit: limit) }) {
            form.print(entry.summary, json: entry.json)
        }
    }
}
