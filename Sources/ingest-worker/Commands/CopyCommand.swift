import ArgumentParser
import GraphCore
import IngestCore

struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies a store from a file into PostgreSQL, or back, with positions, history and cursors.",
        discussion: """
            store.url names the store in PostgreSQL. Stop the worker of the store that is copied. The copy is made in one \
            transaction: it is there as a whole, or not at all.
            Example: ingest-worker copy --from data/chat.sqlite --set store.url=postgres://ingest@db/ingest?schema=chat
            """)

    @OptionGroup var options: SharedOptions

    @Option(help: "The file of the store that is copied into a new store at store.url.")
    var from: String?

    @Option(help: "The new file that the store at store.url is copied into.")
    var to: String?

    @Flag(help: "Prints one JSON object: from, to, and the number of rows by table.")
    var json = false

    func validate() throws {
        if (from == nil) == (to == nil) { throw ValidationError("Give either --from or --to.") }
    }

    func run() throws {
        let configuration = try options.load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        let progress = ProgressPrinter(isShown: !json)
        var (table, rowCount) = ("", 0)
        var rows: [String: Int] = [:]
        func show() {
            if table.isEmpty { return }
            rows[table] = rowCount
            if !json { progress.note("\(table): \(counted(rowCount, "row"))") }
        }
        func note(_ name: String, _ count: Int) {
            if name != table {
                show()
                table = name
            }
            rowCount = count
            progress.show(table: name, rowCount: count)
        }
        try progress.finishing {
            if let to { try configuration.copyStore(to: to, model: model, progress: note) }
            if let from { try configuration.copyStore(from: from, model: model, progress: note) }
        }
        show()
        let place = configuration.storePlace
        if json {
            return Console.print(JSONObject(["from": from ?? place, "to": to ?? place, "rows": rows]).json)
        }
        Console.note("The copy is at \(to ?? place). Do not write \(from ?? place) any more")
    }
}
