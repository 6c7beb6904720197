import ArgumentParser
import IngestCore
import ObjectGraph

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Writes the store, as of one commit, into a new file, while the worker goes on.",
        discussion: """
            The backup is verified before it gets its name. A store in PostgreSQL becomes a file too; 'copy --from' \
            brings it back.
            Example: ingest-worker backup /backup/chat.sqlite --set store.path=data/chat.sqlite
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The new file.", completion: .file())
    var file: String

    @Flag(name: .customLong("no-verify"), help: "Leaves the verification out.")
    var skipsVerification = false

    @Flag(help: "Prints path, size, last transaction and positions as JSON.")
    var json = false

    func run() throws {
        let configuration = try options.load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        let progress = ProgressPrinter(isShown: !json)
        let backup = try progress.finishing {
            try configuration.backUpStore(
                to: file, model: model, verifies: !skipsVerification, progress: progress.show)
        }
        if json {
            Console.printJSON(backup.appendJSON)
        } else {
            Console.print(backup.text)
        }
    }
}
