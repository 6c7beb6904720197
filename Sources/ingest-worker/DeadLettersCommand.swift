import ArgumentParser
import IngestCore
import ObjectGraph

struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Shows the records that could not be applied.",
        subcommands: [List.self, Show.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists dead letters with their places and reasons.",
            discussion: "Example: ingest-worker dead-letters list --limit 20")

        @OptionGroup var options: SharedOptions

        @Option(help: "Only those after this number.")
        var after: Int64 = 0

        @Option(help: "The greatest number of dead letters.")
        var limit = 100

        @Flag(help: "Prints one JSON object a line, with the original bytes in base64.")
        var json = false

        func run() throws {
            let store = try options.openForReading()
            let (letters, total) = try store.read {
                (try $0.deadLetters(after: after, limit: limit), try $0.deadLetterCount())
            }
            for letter in letters { Console.print(json ? letter.json : letter.summary) }
            if !json, letters.count < total { Console.print("\(letters.count) of \(total) shown") }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows one dead letter with its original bytes as text.",
            discussion: "Example: ingest-worker dead-letters show 3")

        @OptionGroup var options: SharedOptions

        @Argument(help: "The dead letter's number.")
        var id: Int64

        func run() throws {
            let store = try options.openForReading()
            guard let letter = try store.read({ try $0.deadLetters(after: id - 1, limit: 1) }).first, letter.id == id
            else {
                throw CommandError(
                    code: ExitStatus.badData,
                    description:
                        "There is no dead letter \(id). 'ingest-worker dead-letters list' shows which there are")
            }
            Console.print(letter.summary)
            if let key = letter.key { Console.print("key: \(String(decoding: key, as: UTF8.self))") }
            if let headers = letter.headers { Console.print("headers: \(headers)") }
            if let value = letter.value { Console.print(String(decoding: value, as: UTF8.self)) }
        }
    }
}

extension DeadLetter {
    private var place: String {
        RecordPlace(topic: topic, partition: partition, offset: offset, line: line).description
    }

    var summary: String { "\(id)  \(Timestamp.text(time))  \(place)  \(stage)  \(code)  \(reason)" }

    var json: String {
        let fields = [
            "\"id\":\(id)", "\"time\":\(JSONText.string(Timestamp.text(time)))", "\"topic\":\(JSONText.string(topic))",
            "\"partition\":\(partition)", "\"offset\":\(offset)", "\"line\":\(line.map { "\($0)" } ?? "null")",
            "\"stage\":\(JSONText.string(stage))", "\"code\":\(JSONText.string(code))",
            "\"reason\":\(JSONText.string(reason))", "\"attempts\":\(attempts)", "\"valueBytes\":\(valueBytes)",
            "\"key\":\(base64(key))", "\"value\":\(base64(value))", "\"headers\":\(headers ?? "null")",
        ]
        return "{\(fields.joined(separator: ","))}"
    }

    private func base64(_ bytes: [UInt8]?) -> String {
        bytes.map { JSONText.string(Base64Text.text($0)) } ?? "null"
    }
}
