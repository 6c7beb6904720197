import ArgumentParser
import IngestCore
import ObjectGraph

struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Shows or purges what changed.",
        subcommands: [List.self, Purge.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists transactions with their changes, in order.",
            discussion: "Example: ingest-worker history list --after 120 --limit 10")

        @OptionGroup var options: SharedOptions

        @Option(help: "Only what came after this token.")
        var after: Int64?

        @Option(help: "The greatest number of transactions.")
        var limit = 20

        @Flag(help: "Prints one JSON object a line, as notifications have it.")
        var json = false

        func run() throws {
            let store = try options.openForReading()
            let transactions = try store.read { context in
                try context.history(after: try after ?? context.purgedToken(), limit: limit)
            }
            var settings = NotificationConfiguration()
            settings.maxBytes = .max
            let builder = NotificationBuilder(
                configuration: settings, storeIdentity: try store.identity(), model: store.model)
            for transaction in transactions {
                if !json { showHead(transaction) }
                var page: HistoryTransaction? = transaction
                var part = 1
                while let current = page {
                    if json {
                        let notifications = try builder.notifications(for: current, firstPart: part)
                        for notification in notifications { Console.print(notification.value ?? "") }
                        part += notifications.count
                    } else {
                        showChanges(current, store.model)
                    }
                    page = try current.nextIndex.flatMap { index in
                        try store.read { try $0.transaction(current.token, from: index, limit: 10_000) }
                    }
                }
            }
        }

        private func showHead(_ transaction: HistoryTransaction) {
            let source = transaction.source.map { " from \($0)" } ?? ""
            Console.print("\(transaction.token)  \(Timestamp.text(transaction.time))  \(transaction.author)\(source)")
        }

        private func showChanges(_ transaction: HistoryTransaction, _ model: ObjectModel) {
            for change in transaction.changes {
                let type = model.entity(named: change.entity)?.identity.type ?? .string
                let properties = change.properties.isEmpty ? "" : "  " + change.properties.joined(separator: ", ")
                let tombstone = change.tombstone.map { "  \($0)" } ?? ""
                Console.print(
                    "    \(change.kind.name) \(change.entity) \(type.text(of: change.identity))\(properties)\(tombstone)"
                )
            }
        }
    }

    struct Purge: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes old history; what a named cursor has not read stays.",
            discussion:
                "Needs the store's lease: stop the worker first. Example: ingest-worker history purge --keep-days 7")

        @OptionGroup var options: SharedOptions

        @Option(help: "Removes what is older than this many days; history.keepDays if not given.")
        var keepDays: Int?

        func run() throws {
            let configuration = try options.load().configuration
            let model = try ObjectModel.load(path: configuration.model)
            let store = try Store.open(
                path: configuration.store.path, model: model, options: configuration.storeOptions)
            let writer = try WriterContext(store: store, options: configuration.writerOptions)
            let days = keepDays ?? configuration.history.keepDays
            let limit = WriterContext.systemTime() - Int64(days) * 86_400_000_000
            var count = 0
            var result: PurgeResult
            repeat {
                result = try writer.purgeHistory(before: limit)
                count += result.transactionCount
            } while result.transactionCount > 0
            try writer.close()
            Console.print("\(count) transactions removed")
            for (name, token) in result.holdingCursors.sorted(by: { $0.key < $1.key }) {
                Console.print("The cursor \(name) stands at token \(token) and holds what is after it")
            }
        }
    }
}
