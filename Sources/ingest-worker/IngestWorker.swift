import ArgumentParser
import Foundation
import GraphCore
import IngestCore
import SQLiteStorage

#if Jq
import CJq
import RecordDecoding
#endif

/// The command line. It wires the parts together; what they do is in the libraries.
@main
struct IngestWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest-worker",
        abstract: "Imports Kafka events into an object graph in SQLite, and publishes the changes.",
        discussion: """
            Exit codes: 0 done, 64 usage, 65 bad data, 69 broker or store unavailable, 70 internal, 75 try again, \
            78 configuration.
            """,
        version: ProgramVersion.text,
        subcommands: [
            DemoCommand.self, InitCommand.self, RunCommand.self, ReplayCommand.self, ConsoleCommand.self,
            StatusCommand.self,
            ProbeCommand.self, CheckCommand.self, DoctorCommand.self, ModelCommand.self, MigrateCommand.self,
            BackupCommand.self, RestoreCommand.self, CopyCommand.self, GrantCommand.self, FetchCommand.self,
            HistoryCommand.self, DeadLettersCommand.self, ConflictsCommand.self, VerifyCommand.self, AuditCommand.self,
        ])

    static func main() async {
        #if Jq
        if arguments.first == ProgramProcess.command { runPrograms(arguments.dropFirst()) }
        ProgramProcess.useThisProgram()
        #endif
        Store.disableMemoryStatistics()
        do {
            // The parent's choice does not count: some ignore the signal, which commands then would, too.
            signal(SIGPIPE, SIG_DFL)
            let command = try readCommand()
            let prints = command is any ReadingCommand || type(of: command)._commandName == "help"
            if !prints { signal(SIGPIPE, SIG_IGN) }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                // It blocks its thread, and a machine of one processor has a single thread for Swift's tasks.
                nonisolated(unsafe) var blocking = command
                try await BlockingThread.run(named: "command") {
                    guard var storeCommand = blocking as? any StoreCommand else { return try blocking.run() }
                    try storeCommand.runForStores()
                }
            }
            try Console.checkOutput()
        } catch {
            let code = ExitStatus.code(of: error)
            // The parser formats its own errors, help and version included.
            guard let code else { exit(withError: error) }
            Console.fail(error, status: code)
            Foundation.exit(code)
        }
    }

    /// Reads the arguments; a command that does not exist is refused with the closest one.
    private static func readCommand() throws -> any ParsableCommand {
        do {
            return try parseAsRoot()
        } catch {
            if exitCode(for: error) == .validationFailure, let unknown = UnknownCommand(in: Self.self, arguments) {
                throw CommandError(code: ExitStatus.usage, description: unknown.description)
            }
            throw error
        }
    }

    #if Jq
    /// Runs the jq program of a route, as the child process.
    private static func runPrograms(_ arguments: ArraySlice<String>) -> Never {
        let texts = arguments.map { UnsafePointer(strdup($0)) }
        jq_child_run(Int32(texts.count), texts)
    }
    #endif

    private static var arguments: [String] { Array(CommandLine.arguments.dropFirst()) }
}

/// A word in the place of a command that names no command.
struct UnknownCommand: CustomStringConvertible {
    let description: String

    /// Returns nil where the arguments begin with commands that exist.
    init?(in root: any ParsableCommand.Type, _ arguments: [String]) {
        var (command, path) = (root, [root._commandName])
        for argument in arguments {
            let commands = command.configuration.subcommands
            if commands.isEmpty || argument.hasPrefix("-") || argument == "help" { return nil }
            if let next = commands.first(where: { $0._commandName == argument }) {
                command = next
                path.append(argument)
                continue
            }
            let closest = ClosestName.find(argument, among: commands.map { $0._commandName })
            let group = path.joined(separator: " ")
            description =
                "There is no command '\(group) \(argument)'. "
                + (closest.map { "Did you mean '\(group) \($0)'?" } ?? "'\(group) --help' lists the commands")
            return
        }
        return nil
    }
}
