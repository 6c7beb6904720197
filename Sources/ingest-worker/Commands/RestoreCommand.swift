import ArgumentParser
import GraphCore
import IngestCore

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Puts a backup in the place of the store, and keeps the replaced store under another name.",
        discussion: """
            Stop the worker first. The backup is verified before anything changes, and stays as it is. A store in \
            PostgreSQL, too, is replaced in one step. A restore that ends early has happened wholly or not at all: run it \
            again. The worker goes on at the positions of the backup.
            Example: ingest-worker restore /backup/chat.sqlite --set store.path=data/chat.sqlite
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The file that 'backup' has written.", completion: .file())
    var file: String

    @Flag(help: "Removes the replaced store, instead of keeping it. One that cannot be read stays all the same.")
    var removeOld = false

    @Flag(help: "Prints store, file, the place of the replaced store, last transaction and positions as JSON.")
    var json = false

    func run() throws {
        let configuration = try options.load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        let began = WriterContext.systemTime()
        let progress = ProgressPrinter(isShown: !json)
        let restored = try progress.finishing {
            try configuration.restoreStore(
                from: file, model: model, keepsOld: !removeOld, progress: progress.show,
                atStep: StepKill.dieWhereATestSays)
        }
        if !restored.leftViews.isEmpty {
            Console.note("These views still read the replaced store: \(restored.leftViews.joined(separator: ", "))")
        }
        Console.print(json ? restored.json : restored.text)
        // The store is restored, whether or not a worker has begun to write it since.
        try? CommandAudit.note(
            "restore", JSONObject(["file": file]).json, result: restored.json, began: began, in: configuration,
            model: model)
    }
}
