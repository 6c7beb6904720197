import ArgumentParser
import IngestCore
import ObjectGraph

struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies a store in a file into a new one in PostgreSQL, with positions, history and cursors.",
        discussion: """
            store.url names the new store. Stop the worker of the old one first. The copy is made in one transaction: it \
            is there as a whole, or not at all.
            Example: ingest-worker copy --from data/chat.sqlite --set store.url=postgres://ingest@db/ingest?schema=chat
            """)

    @OptionGroup var options: SharedOptions

    @Option(help: "The file of the store that is copied.")
    var from: String

    func run() throws {
        let configuration = try options.load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        var (table, rowCount) = ("", 0)
        func show() { if !table.isEmpty { Console.note("\(table): \(rowCount) rows") } }
        try configuration.copyStore(from: from, model: model) { name, count in
            if name != table {
                show()
                table = name
            }
            rowCount = count
        }
        show()
        Console.note("The copy is at \(configuration.storePlace). Do not write \(from) any more")
    }
}
