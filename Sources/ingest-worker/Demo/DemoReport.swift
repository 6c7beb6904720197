import GraphCore
import IngestCore
import Operations

/// The demo's summary: what went in, what the store holds, what came out, and whether it all fits.
struct DemoReport {
    let model: ObjectModel
    let configuration: WorkerConfiguration
    let runtime: WorkerRuntime
    let tally: DemoTally

    func show() throws {
        let counts = tally.current
        let summary = runtime.summary
        let store = try configuration.openStoreForReading(model: model)
        Console.print("")
        Console.print(
            "Events         \(counts.sent) sent, \(summary.records) read, "
                + "\(summary.applied) applied, \(summary.stale) stale")
        let objects = try store.read { context in
            try model.entities.map { "\(try context.count($0).objects) \($0.name)" }
        }
        Console.print("Store          \(objects.joined(separator: ", "))")
        Console.print(
            "Notifications  \(counts.notifications) received up to token \(counts.lastToken), "
                + (counts.isOrdered ? "in order" : "OUT OF ORDER"))
        let unexplained = showDeadLetters(counts)
        let isSound = try verify(store)
        Console.print(
            """

            The store stays at \(configuration.storePlace). Look into it:
              \(lookInside)
            """)
        if counts.isInterrupted {
            Console.print("\nThe demo was interrupted: it may not have read all records that it had sent.")
        }
        let isComplete = counts.isInterrupted || summary.records == counts.sent
        let isNotified = counts.lastToken == runtime.deliveredToken ?? 0
        if unexplained > 0 || !isSound || !counts.isOrdered || !isComplete || !isNotified {
            throw CommandError(
                code: ExitStatus.internalError, description: "The demo did not end as it should; see the summary")
        }
    }

    /// A command that shows a part of the store.
    private var lookInside: String {
        configuration.isStoreInFile
            ? "sqlite3 \(configuration.store.path) 'SELECT * FROM _history LIMIT 10'"
            : "ingest-worker history --limit 10, or psql, in the schema of the URL"
    }

    /// Verifies a store, shows the outcome, and tells whether nothing was found.
    private func verify(_ store: Store) throws -> Bool {
        let report = try store.verify()
        Console.print("Verification   \(report.isSound ? "sound" : report.problemNumber)")
        if !report.isSound { Console.print(report.text) }
        return report.isSound
    }

    /// Shows the dead letters beside the records that were broken on purpose; returns how many have no such cause.
    private func showDeadLetters(_ counts: DemoTally.Counts) -> Int {
        let expected = counts.expectedDeadLetters.values.reduce(0, +)
        let found = counts.deadLetters.values.reduce(0, +)
        let unexplained = Set(counts.deadLetters.keys).union(counts.expectedDeadLetters.keys).reduce(0) {
            sum, code in
            let surplus = (counts.deadLetters[code] ?? 0) - (counts.expectedDeadLetters[code] ?? 0)
            // After an interruption some of the broken records are still unread.
            return sum + (counts.isInterrupted ? max(0, surplus) : abs(surplus))
        }
        Console.print(
            "Dead letters   \(found), of \(expected) records that were broken on purpose; \(unexplained) unexplained")
        return unexplained
    }
}
