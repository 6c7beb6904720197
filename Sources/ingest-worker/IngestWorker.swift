import ArgumentParser
import Foundation
import IngestCore
import ObjectGraph

/// The command line. It wires the parts together; what they do is in the libraries.
@main
struct IngestWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest-worker",
        abstract: "Imports Kafka events into an object graph in SQLite, and tells what changed.",
        discussion: """
            Exit codes: 0 done, 64 usage, 65 bad data, 69 broker or store unavailable, 70 internal, 73 cannot write, \
            75 try again, 78 configuration.
            """,
        version: WorkerRuntime.version,
        subcommands: [
            DemoCommand.self, RunCommand.self, ReplayCommand.self, CheckCommand.self, ModelCommand.self,
            MigrateCommand.self,
            FetchCommand.self, HistoryCommand.self, DeadLettersCommand.self, ConflictsCommand.self, VerifyCommand.self,
        ])

    static func main() async {
        Store.disableMemoryStatistics()
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let code = ExitStatus.code(of: error)
            // The parser formats its own errors, help and version included.
            guard let code else { exit(withError: error) }
            Console.note("ingest-worker: \(error)")
            Foundation.exit(code)
        }
    }
}
