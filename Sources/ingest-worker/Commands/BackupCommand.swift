import ArgumentParser
import GraphCore
import IngestCore

struct BackupCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Writes the store, as of one commit, into a new file, while the worker goes on.",
        discussion: """
            The backup is verified before it gets its name. Without FILE it goes into the folder backup.folder under a \
            new name; a running worker takes it then, and notes it in the audit. With FILE this process takes it. A \
            store in PostgreSQL becomes a file too; 'restore' brings it back.
            With a store for each partition, FILE has {partition}, or --store chooses one.
            Example: ingest-worker backup --set backup.folder=/backup
            Example: ingest-worker backup /backup/chat.sqlite --set store.path=data/chat.sqlite
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The new file; without it the folder backup.folder gets one.", completion: .file())
    var file: String?

    @Flag(name: .customLong("no-verify"), help: "Leaves the verification out.")
    var skipsVerification = false

    @Flag(help: "Prints path, size, last transaction and positions as JSON.")
    var json = false

    var argumentOfOneStore: String? {
        file.flatMap { $0.contains(StoreConfiguration.partitionMark) ? nil : "A file without {partition}" }
    }

    func run() throws {
        let progress = ProgressPrinter(isShown: !json)
        let backup = try progress.finishing { try take(progress.show) }
        Console.print(json ? backup.json : backup.text)
    }

    private func take(_ show: @escaping (StoreStep) -> Void) throws -> BackupSummary {
        let partition = options.store?.one.map { "\($0)" } ?? StoreConfiguration.partitionMark
        guard let file = file?.replacing(StoreConfiguration.partitionMark, with: partition) else {
            let result = try options.carryOut(.backUp(verifies: !skipsVerification), onStep: show)
            if case .backedUp(let backup) = result { return backup }
            throw CommandError(code: ExitStatus.internalError, description: "The worker answered another request")
        }
        let configuration = try options.load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        return try configuration.backUpStore(
            to: file, model: model, verifies: !skipsVerification, progress: show)
    }
}
