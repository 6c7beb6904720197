import ArgumentParser
import GraphCore
import IngestCore

extension HistoryCommand {
    struct Confirm: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "confirm", abstract: "Lets purges by age go on that a jump of the clock holds.",
            discussion: """
                The worker holds its purges where two commits lie further apart than history.keepDays: either the store \
                was not used, or a clock was wrong. 'status' shows the two times, and the number of records that would \
                go. Compare the machine's clock first. A running worker carries this out and keeps reading.
                Example: ingest-worker history confirm
                """)

        @OptionGroup var options: SharedOptions

        @Flag(help: "Prints one JSON object: 'confirmed' has the purges that were held, or is null.")
        var json = false

        func run() throws {
            let answer = try options.carryOut(.confirmPurges)
            guard case .purgesConfirmed(let held) = answer else { return }
            if json { return Console.print(answer.json) }
            Console.print(held.map { "Purges by age go on: \($0.reason)" } ?? "No purge is held")
        }
    }
}
