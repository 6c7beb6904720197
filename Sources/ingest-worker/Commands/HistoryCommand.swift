import ArgumentParser
import GraphCore
import IngestCore

struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Shows or purges the history of changes, and the cursors of its readers.",
        subcommands: [List.self, Cursors.self, Purge.self, Confirm.self], defaultSubcommand: List.self)

    struct List: ReadingCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists transactions with their changes, in order.",
            discussion: """
                Examples: ingest-worker history --after 120 --limit 10
                          ingest-worker history --since 2026-03-01 --entity Message --object m-1 --kind delete
                """)

        @OptionGroup var options: SharedOptions

        @Option(
            help: "Only transactions after this token: a number, or STORE:NUMBER; of several stores 0=NUMBER,1=NUMBER.")
        var after: String?

        @Option(help: "Only transactions saved at this time or later. Give \(Timestamp.forms).")
        var since: String?

        @Option(help: "Only changes of this entity's objects.")
        var entity: String?

        @Option(help: "Only changes of the object with this identity; needs --entity.")
        var object: String?

        @Option(help: "Only transactions by this author.")
        var author: String?

        @Option(help: "Only transactions of the context with this name.")
        var context: String?

        @Option(help: "Only changes of this kind: insert, update or delete. May be repeated.")
        var kind: [String] = []

        @Option(help: "The maximum number of transactions.")
        var limit = 20

        @Flag(help: "Prints one JSON object per line, in the form of notifications.")
        var json = false

        @Flag(help: "Prints only the number of changes.")
        var count = false

        func run() throws { _ = try show() }

        func run(forStores partitions: [Int32]) throws {
            var reached = StorePositions()
            if let after {
                guard let positions = StorePositions(after) else {
                    throw ValidationError("--after takes a token of each store, as in 0=120,1=80")
                }
                reached = positions
            }
            defer { if !count { Console.note("more: --after \(reached)") } }
            try runForEach(of: partitions) { command in
                guard let partition = command.options.store?.one else { return }
                command.after = reached[partition]
                if let token = try command.show() { reached[partition] = "\(token)" }
            }
        }

        /// Shows the history of one store, and returns the last token that it has shown.
        private func show() throws -> Int64? {
            guard limit >= 0 else { throw ValidationError("--limit takes a number from 0 up") }
            let store = try options.openForReading()
            let request = try request(store)
            if count {
                Console.print("\(try store.historyCount(request))")
                return nil
            }
            let printer = HistoryPrinter(store: store, builder: try Self.builder(store), json: json)
            if isFiltered {
                return try printer.showMatching(request, limit: limit)
            } else {
                return try printer.showAll(after: request.after?.number, limit: limit)
            }
        }

        private var isFiltered: Bool {
            since != nil || entity != nil || object != nil || author != nil || context != nil || !kind.isEmpty
        }

        private static func builder(_ store: Store) throws -> NotificationBuilder {
            var settings = NotificationConfiguration()
            settings.maxBytes = .max
            return NotificationBuilder(
                configuration: settings, storeIdentity: try store.identity(), model: store.model)
        }

        private func request(_ store: Store) throws -> HistoryRequest {
            var request = HistoryRequest()
            if let after {
                let token =
                    try Int64(after).map { number in
                        let last = try store.read { try $0.historyToken() }
                        return HistoryToken(store: last.store, number: number, epoch: last.epoch)
                    } ?? HistoryToken(after)
                // Whole transactions are read by numbers, which say nothing of the store and the epoch.
                _ = try store.read { try $0.hasHistory(HistoryRequest(after: token)) }
                request.after = token
            }
            request.since = try Timestamp.read(since, of: "--since")
            request.author = author
            request.context = context
            if !kind.isEmpty { request.kinds = Set(try kind.map(Self.kind)) }
            try setObject(&request, store.model)
            return request
        }

        private func setObject(_ request: inout HistoryRequest, _ model: ObjectModel) throws {
            guard let entity else {
                if object != nil { throw ValidationError("--object needs --entity: identities are those of an entity") }
                return
            }
            // An entity that the model does not have is named by the request itself.
            let found = model.entity(matching: entity)
            request.entity = found?.name ?? entity
            guard let object, let found else { return }
            guard let identity = found.identity.type.value(fromText: object) else {
                throw ValidationError("--object takes \(found.identity.type.expectation)")
            }
            request.identity = identity
        }

        private static func kind(_ text: String) throws -> ChangeKind {
            switch text.lowercased() {
            case "insert": .insert
            case "update": .update
            case "delete": .delete
            default: throw ValidationError("--kind takes insert, update or delete")
            }
        }
    }

    struct Cursors: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cursors", abstract: "Lists the named readers of the history, or changes one by hand.",
            discussion: """
                A purge keeps the transactions that a cursor has not read. A running worker carries out put and remove, \
                except for its own cursor.
                Example: ingest-worker history cursors remove notifications:old-topic
                """,
            subcommands: [Show.self, Put.self, Remove.self], defaultSubcommand: Show.self)

        struct Show: ReadingCommand, StoreCommand {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "Shows each cursor's token, age and lag.")

            @OptionGroup var options: SharedOptions

            @OptionGroup var form: ListForm

            func run() throws {
                let store = try options.openForReading()
                let now = WriterContext.systemTime()
                for cursor in try store.read({ try $0.historyCursors() }) {
                    form.print(Self.text(cursor, now), json: Self.line(cursor, now))
                }
            }

            private static func text(_ cursor: HistoryCursor, _ now: Int64) -> String {
                let expired = cursor.isExpired ? ", expired: a purge removed transactions that it had not read" : ""
                let lag =
                    cursor.lag == 0
                    ? "has read everything"
                    : "\(counted(cursor.lag, "transaction")) behind, the oldest "
                        + "\(Int(cursor.lagSeconds(at: now))) s old"
                return "\(cursor.name)  token \(cursor.token)  saved \(Int(cursor.ageSeconds(at: now))) s ago  "
                    + "\(lag)\(expired)"
            }

            private static func line(_ cursor: HistoryCursor, _ now: Int64) -> String {
                JSONObject([
                    "name": cursor.name, "token": cursor.token, "ageSeconds": Int(cursor.ageSeconds(at: now)),
                    "lag": cursor.lag, "lagSeconds": Int(cursor.lagSeconds(at: now)), "expired": cursor.isExpired,
                ]).json
            }
        }

        struct Put: ParsableCommand {
            static let configuration = CommandConfiguration(commandName: "put", abstract: "Sets a cursor to a token.")

            @OptionGroup var options: SharedOptions

            @Argument(help: "The cursor's name.")
            var name: String

            @Argument(help: "The last token that the cursor's reader has finished.")
            var token: Int64

            func run() throws {
                _ = try options.carryOut(.putCursor(name, token: token))
            }
        }

        struct Remove: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "remove", abstract: "Removes a cursor, so that purges no longer wait for it.")

            @OptionGroup var options: SharedOptions

            @Argument(help: "The cursor's name.")
            var name: String

            func run() throws {
                if try options.carryOut(.removeCursor(name)) != .cursorRemoved(true) {
                    throw CommandError(
                        code: ExitStatus.badData,
                        description: "There is no cursor '\(name)'. 'ingest-worker history cursors' lists them")
                }
            }
        }
    }

    struct Purge: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "purge",
            abstract: "Removes old history, except transactions that a named cursor has not read.",
            discussion:
                "A running worker carries this out and keeps reading. Example: ingest-worker history purge --keep-days 7"
        )

        @OptionGroup var options: SharedOptions

        @Option(help: "Removes transactions older than this many days; history.keepDays if not given.")
        var keepDays: Int?

        @Option(help: "Removes transactions before this token; the token's own transaction stays.")
        var before: Int64?

        @Flag(help: "Also removes transactions that cursors have not read, and names these cursors.")
        var passCursors = false

        @Flag(help: "Prints one JSON object: transactions, changeRows, and the tokens of cursors held and passed.")
        var json = false

        func validate() throws {
            if keepDays != nil, before != nil {
                throw ValidationError("--keep-days and --before exclude each other")
            }
            if let keepDays, !(0...36_500).contains(keepDays) {
                throw ValidationError("--keep-days takes a number from 0 to 36500")
            }
            if let before, before < 0 { throw ValidationError("--before takes a token, a number from 0 up") }
        }

        var argumentOfOneStore: String? { before.map { _ in "The token of --before" } }

        func run() throws {
            let loaded = try options.load().configuration
            let days = keepDays ?? loaded.history.keepDays
            let limit = WriterContext.systemTime() - Int64(days) * 86_400_000_000
            var purge = HistoryPurge(before: before.map { .token($0) } ?? .time(limit))
            if passCursors { purge.passesCursorsSavedBefore = .max }
            let progress = ProgressPrinter(isShown: !json)
            if !json { try Self.watch(purge, progress, try options.openForReading()) }
            let answer = try progress.finishing { try options.carryOut(.purgeHistory(purge)) }
            guard case .purged(let result) = answer else { return }
            if json { return Console.print(answer.json) }
            Console.print("\(counted(result.transactionCount, "transaction")) removed")
            for (name, token) in result.holdingCursors.sorted(by: { $0.key < $1.key }) {
                Console.print("The cursor \(name) is at token \(token) and keeps later transactions")
            }
            for (name, token) in result.passedCursors.sorted(by: { $0.key < $1.key }) {
                Console.print(
                    "The cursor \(name) was at token \(token): unread transactions are gone, so read the store again")
            }
        }

        /// Shows how far a purge is by the beginning of the history, since the worker may carry it out.
        private static func watch(_ purge: HistoryPurge, _ progress: ProgressPrinter, _ store: Store) throws {
            let (start, end) = try store.read { context in
                var end = try context.lastToken()
                switch purge.bound {
                case .token(let token): end = min(end, token - 1)
                case .time(let time):
                    var request = HistoryRequest()
                    (request.since, request.limit) = (time, 1)
                    if let kept = try context.historyTransactions(request).transactions.first { end = kept.token - 1 }
                }
                return (try context.purgedToken(), end)
            }
            progress.watch {
                guard let token = try? store.read({ try $0.purgedToken() }) else { return nil }
                return ProgressMeter.Step(
                    "purging", count: Int(token - start), noun: "transaction",
                    share: Double(token - start) / Double(max(1, end - start)))
            }
        }
    }
}
