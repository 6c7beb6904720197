import ArgumentParser
import GraphCore
import IngestCore

struct FetchCommand: ReadingCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Shows objects of the store.",
        discussion: """
            Conditions use the syntax of NSPredicate; docs/reference/fetching.md describes the whole language. Examples:

              ingest-worker fetch Message --where "chat.title CONTAINS[cd] 'pump' AND seq > 10" --sort -sentAt
              ingest-worker fetch Message --where "sentAt > now() - 86400 AND sender != nil" --count
              ingest-worker fetch Chat --where "ANY members.name IN {'Ada', 'Grace'}" --sort "title[cd]"
              ingest-worker fetch Chat --where "SUBQUERY(messages, \\$m, \\$m.seq > 10).@count > 2" --fields id,title
              ingest-worker fetch Chat --sort -messagesCount --limit 50 --explain
              ingest-worker fetch Message --fields "chat.title, count() AS messages, max(sentAt) AS last" \\
                --group-by chat.title --having "messages > 10" --sort -messages
              ingest-worker fetch Message --fields sender.name --distinct --sort sender.name

            If more objects follow, standard error names the option --after for the next page.
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The entity.")
    var entity: String

    @Option(name: .customLong("where"), help: "The condition, in the syntax of NSPredicate.")
    var condition: String?

    // -property begins like an option; it is a value all the same.
    @Option(
        parsing: .unconditionalSingleValue,
        help: """
            The properties to sort by, the most important first, separated by commas: 'chat.title[cd], -sentAt'. \
            -property sorts in descending order; [cd] ignores case and diacritics. May be repeated.
            """)
    var sort: [String] = []

    @Option(help: "The maximum number of objects; 100 unless --count is given.")
    var limit: Int?

    @Option(help: "The number of objects to skip.")
    var offset = 0

    @Option(help: "Begins after the page that named this position.")
    var after: String?

    @Option(help: "The properties to show, separated by commas: key paths, or expressions as in 'cost * 2 AS twice'.")
    var fields: String?

    @Option(help: "Makes one row of all objects with equal values of these properties, separated by commas.")
    var groupBy: String?

    @Option(help: "The groups to show: a condition on the names in --group-by and --fields.")
    var having: String?

    @Flag(help: "Leaves out repeated rows.")
    var distinct = false

    @Flag(help: "Prints only the number of objects or rows.")
    var count = false

    @Flag(help: "Leaves out placeholders: objects that events refer to and that have not arrived.")
    var withoutPlaceholders = false

    @Flag(
        help: "Prints the SQL statement and its use of indexes, and reads nothing; with --count the counting statement."
    )
    var explain = false

    @OptionGroup var form: ListForm

    func run() throws {
        let store = try options.openForReading()
        let checked = try checkedRequest(store.model, after: after)
        if explain {
            Console.write(try store.read { try $0.explain(checked, counting: count) }.text)
        } else if count {
            Console.print("\(try store.read { try $0.count(checked) })")
        } else if checked.isOfRows {
            show(try store.read { try $0.rows(checked) })
        } else {
            let page = try store.read { try $0.page(checked) }
            show(page.objects)
            if let next = page.next { Console.note("more: --after \(next)") }
        }
    }

    func checkedRequest(_ model: ObjectModel, after: String?) throws -> CheckedFetchRequest {
        var request = FetchRequest(entity, where: condition)
        request.limit = limit ?? (count ? nil : 100)
        request.offset = offset
        request.after = after
        request.isDistinct = distinct
        request.includesPlaceholders = !withoutPlaceholders
        request.having = having.map { .text($0) }
        do {
            request.sort = try sort.flatMap { try FetchRequest.parts(of: $0) }
            request.properties = try fields.map { try FetchRequest.parts(of: $0) }
            request.groupBy = try groupBy.map { try FetchRequest.parts(of: $0) } ?? []
            return try request.checked(with: model)
        } catch let error as FetchPredicateError {
            // The text with a mark below the place says more than a number.
            if let text = text(of: error, request) { Console.note(error.excerpt(of: text)) }
            throw error
        }
    }

    private func text(of error: FetchPredicateError, _ request: FetchRequest) -> String? {
        guard error.column != nil else { return nil }
        let texts: [String]
        switch error.part {
        case .condition: texts = [condition].compactMap(\.self)
        case .having: texts = [having].compactMap(\.self)
        case .order: texts = request.sort
        case .properties: texts = request.properties ?? []
        case .grouping: texts = request.groupBy
        }
        return texts.indices.contains(error.number - 1) ? texts[error.number - 1] : nil
    }

    private func show(_ found: [some FetchedContents]) {
        guard form.json else {
            Console.write(FetchedTable().text(found))
            return
        }
        for object in found {
            var text = ""
            object.appendJSON(to: &text)
            Console.print(text)
        }
    }
}
