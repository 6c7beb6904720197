import ArgumentParser
import GraphCore
import IngestCore

struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Shows, counts, retries, exports and drops the records that could not be applied.",
        subcommands: [List.self, Summary.self, Show.self, Retry.self, Drop.self, Export.self],
        defaultSubcommand: List.self)

    struct List: ReadingCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists dead letters with their places and reasons.",
            discussion: """
                Example: ingest-worker dead-letters list --limit 20
                Example: ingest-worker dead-letters list --code decode.type --since 2026-03-01 --reason sentAt
                """)

        @OptionGroup var options: SharedOptions
        @OptionGroup var conditions: LetterConditions

        @Option(help: "Only dead letters after this number.")
        var after: Int64 = 0

        @Option(help: "The maximum number of dead letters.")
        var limit = 100

        @Flag(help: "Prints one JSON object per line, with the original bytes in base64.")
        var json = false

        var argumentOfOneStore: String? { after == 0 ? nil : "The number of --after" }

        func run() throws {
            let selection = try conditions.selection()
            let store = try options.openForReading()
            let (letters, total) = try store.read {
                (try $0.deadLetters(selection, after: after, limit: limit), try $0.deadLetterCount(selection))
            }
            for letter in letters { Console.print(json ? letter.json : letter.summary.visible) }
            if !json, letters.count < total { Console.print("\(letters.count) of \(total) shown") }
        }
    }

    struct Show: ReadingCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Shows one dead letter with its original bytes and headers as text.",
            discussion: "Example: ingest-worker dead-letters show 3")

        @OptionGroup var options: SharedOptions

        @Argument(help: "The dead letter's number.")
        var id: Int64

        @Flag(help: "Prints a JSON object, with the original bytes in base64.")
        var json = false

        func run() throws {
            let store = try options.openForReading()
            guard let letter = try store.read({ try $0.deadLetter(id) }) else {
                throw CommandError(
                    code: ExitStatus.badData,
                    description:
                        "There is no dead letter \(id). 'ingest-worker dead-letters list' lists them")
            }
            Console.print(json ? letter.json : letter.details.visible)
        }
    }

    struct Retry: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry", abstract: "Applies dead letters again, with the current model and routes.",
            discussion: """
                Dead letters are applied in the order of their original positions. The store drops each one that \
                succeeds. The others stay, with one more attempt, and the command ends with 65. A running worker carries \
                this out between two chunks, with its own configuration, and keeps reading.
                Example: ingest-worker dead-letters retry --code decode.unknown_property
                """)

        @OptionGroup var options: SharedOptions
        @OptionGroup var selection: LetterOptions

        @Flag(help: "Prints the summary as JSON.")
        var json = false

        var argumentOfOneStore: String? { selection.argumentOfOneStore }

        func run() throws {
            let request = ControlRequest.retryDeadLetters(try selection.selection(isRequired: false))
            let result = try options.carryOut(request) { letter in if !json { Console.note(letter) } }
            guard case .retried(let summary) = result else { return }
            Console.print(json ? summary.json : summary.text)
            if summary.failed > 0 {
                throw CommandError(
                    code: ExitStatus.badData,
                    description:
                        "\(summary.failed) of \(counted(summary.tried, "dead letter")) stay. Correct their cause, or drop them"
                )
            }
        }
    }

    struct Drop: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "drop", abstract: "Removes dead letters permanently.",
            discussion: """
                Give numbers or a condition; --all drops every dead letter. A running worker carries this out and keeps reading.
                Example: ingest-worker dead-letters drop 3 5 8
                Example: ingest-worker dead-letters drop --topic chat-events --before 2026-01-01
                """)

        @OptionGroup var options: SharedOptions
        @OptionGroup var selection: LetterOptions

        @Flag(help: "Drops all dead letters.")
        var all = false

        @Flag(help: "Prints one JSON object with the count of dead letters.")
        var json = false

        var argumentOfOneStore: String? { selection.argumentOfOneStore }

        func run() throws {
            let selection = try selection.selection(isRequired: !all)
            let answer = try options.carryOut(.dropDeadLetters(selection))
            guard case .dropped(let count) = answer else { return }
            if json { return Console.print(answer.json) }
            Console.print("\(counted(count, "dead letter")) dropped")
        }
    }

    struct Export: ReadingCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Prints dead letters as JSON lines that 'replay' reads again.",
            discussion: """
                Each line has the original key, value and headers in base64. The dead letters stay in the store.
                Example: ingest-worker dead-letters export > letters.jsonl
                """)

        @OptionGroup var options: SharedOptions
        @OptionGroup var selection: LetterOptions

        var argumentOfOneStore: String? { selection.argumentOfOneStore }
        var printsForPrograms: Bool { true }

        func run() throws {
            let selection = try selection.selection(isRequired: false)
            let configuration = try options.load().configuration
            let model = try ObjectModel.load(path: configuration.model)
            try configuration.exportDeadLetters(selection, model: model) { Console.print($0) }
        }
    }
}

/// The options that select dead letters.
struct LetterOptions: ParsableArguments {
    @Argument(help: "The numbers of dead letters; without numbers, all that match the conditions.")
    var ids: [Int64] = []

    @OptionGroup var conditions: LetterConditions

    var argumentOfOneStore: String? { ids.isEmpty ? nil : "The number of a dead letter" }

    /// Returns the selection of dead letters that the options state.
    func selection(isRequired: Bool) throws -> DeadLetterSelection {
        var selection = try conditions.selection()
        selection.ids = ids.isEmpty ? nil : ids
        let isOpen = ids.isEmpty && conditions.isEmpty
        if isRequired, isOpen {
            throw ValidationError("Name numbers or a condition, or pass --all to drop every dead letter")
        }
        return selection
    }
}

/// The conditions on dead letters.
struct LetterConditions: ParsableArguments {
    @Option(help: "Only dead letters of this topic, or of a file as in file:/path.")
    var topic: String?

    @Option(help: "Only dead letters of this partition.")
    var partition: Int32?

    @Option(help: "Only dead letters of this stage: decode or apply.")
    var stage: String?

    @Option(help: "Only dead letters with this code, as in decode.type, or of this rule, as in validation.pattern.")
    var code: String?

    @Option(help: "Only dead letters from before this time. Give \(Timestamp.forms).")
    var before: String?

    @Option(help: "Only dead letters from this time or later. Give \(Timestamp.forms).")
    var since: String?

    @Option(help: "Only dead letters whose reason contains this text.")
    var reason: String?

    var isEmpty: Bool {
        topic == nil && partition == nil && stage == nil && code == nil && before == nil && since == nil
            && reason == nil
    }

    /// Returns the selection of dead letters that the conditions state.
    func selection() throws -> DeadLetterSelection {
        var selection = DeadLetterSelection()
        (selection.topic, selection.partition, selection.stage, selection.code) = (topic, partition, stage, code)
        selection.reason = reason
        selection.before = try Timestamp.read(before, of: "--before")
        selection.since = try Timestamp.read(since, of: "--since")
        return selection
    }
}

extension DeadLetterRetry.Summary {
    var text: String {
        "\(counted(tried, "dead letter")) tried: \(applied) applied, \(stale) stale, \(filtered) filtered out, \(failed) stay"
    }
}

extension DeadLetter {
    /// Everything that is kept, bytes as text.
    var details: String {
        var lines = [summary, "attempts: \(attempts)"]
        if let timestampText { lines.append("timestamp: \(timestampText)") }
        if let key { lines.append("key: \(String(decoding: key, as: UTF8.self))") }
        for header in recordHeaders {
            lines.append("header \(header.name): \(header.value.map { String(decoding: $0, as: UTF8.self) } ?? "null")")
        }
        if let value {
            let isWhole = value.count >= valueBytes
            lines.append(
                "value, \(counted(valueBytes, "byte"))\(isWhole ? "" : ", of which the first \(value.count) are kept"):"
            )
            lines.append(String(decoding: value, as: UTF8.self))
        } else {
            lines.append("value: null")
        }
        return lines.joined(separator: "\n")
    }

    var json: String { DeadLetterLine.text(self) }
}
