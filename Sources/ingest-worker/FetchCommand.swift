import ArgumentParser
import IngestCore
import ObjectGraph

struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Shows objects of the store.",
        discussion: """
            Example: ingest-worker fetch Message --where "chat.title CONTAINS[c] 'pump' AND seq > 10" --sort -sentAt --limit 20
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The entity.")
    var entity: String

    @Option(name: .customLong("where"), help: "The condition, in the syntax of NSPredicate.")
    var condition: String?

    // -property begins like an option; it is a value all the same.
    @Option(
        parsing: .unconditionalSingleValue,
        help: "What to sort by, the most important first; -property sorts downwards. May be repeated.")
    var sort: [String] = []

    @Option(help: "The greatest number of objects.")
    var limit = 100

    @Option(help: "How many objects to pass over.")
    var offset = 0

    @Flag(help: "Prints one JSON object a line.")
    var json = false

    @Flag(help: "Prints the number of objects only.")
    var count = false

    func run() throws {
        let store = try options.openForReading()
        var request = FetchRequest(entity, where: condition)
        request.sort = sort
        request.limit = limit
        request.offset = offset
        let checked = try request.checked(with: store.model)
        if count {
            Console.print("\(try store.read { try $0.count(checked) })")
            return
        }
        guard json else {
            Console.print(FetchedTable().text(try store.read { try $0.fetch(checked) }))
            return
        }
        try store.read { context in
            try context.fetch(checked) { object in
                var line = ""
                object.appendJSON(to: &line)
                Console.print(line)
                return true
            }
        }
    }
}
