import ArgumentParser
import IngestCore
import ObjectGraph

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks a store: the file, foreign keys, inverses, required values, derived values, history.",
        discussion: "Exits with 65 where something is wrong. "
            + "Example: ingest-worker verify --set store.path=data/chat.sqlite")

    @OptionGroup var options: SharedOptions

    @Flag(help: "Prints the report as JSON.")
    var json = false

    @Flag(help: "Prints the store's canonical dump instead: the same text for equal contents.")
    var dump = false

    func run() throws {
        let store = try options.openForReading()
        if dump {
            try store.read { try $0.canonicalDump { Console.write($0) } }
            return
        }
        let report = try store.verify()
        if json {
            var text = ""
            report.appendJSON(to: &text)
            Console.print(text)
        } else {
            Console.print(report.text)
        }
        if !report.isSound {
            throw CommandError(
                code: ExitStatus.badData,
                description: "The store has \(report.problemCount) problems. "
                    + "Stop the worker and restore a copy, or rebuild it by replay")
        }
    }
}
