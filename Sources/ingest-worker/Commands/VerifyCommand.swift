import ArgumentParser
import GraphCore
import IngestCore

struct VerifyCommand: ReadingCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks a store: the file, foreign keys, inverses, values, counts, derived values, history.",
        discussion: """
            A running worker does this beside its work, and notes it in the audit. Without a worker the command reads \
            the store itself. Ends with 65 if the store has problems, or if --repair leaves some. --repair needs the store's lease: stop \
            the worker first.
            Example: ingest-worker verify --set store.path=data/chat.sqlite
            """)

    @OptionGroup var options: SharedOptions

    @Flag(help: "Prints the report as JSON.")
    var json = false

    @Flag(help: "Prints the store's canonical dump instead: equal contents give equal text.")
    var dump = false

    @Flag(help: "Repairs derived values, and references and links that lead nowhere, with history; then checks.")
    var repair = false

    var printsForPrograms: Bool { dump }

    func validate() throws {
        if repair, dump { throw ValidationError("--repair and --dump exclude each other") }
    }

    func run() throws {
        if repair {
            do { return try mend() } catch let error as StoreError { throw error.ofRepair }
        }
        if dump {
            let store = try options.openForReading()
            try store.read { try $0.canonicalDump { Console.write($0) } }
            return
        }
        let progress = ProgressPrinter(isShown: !json)
        let result = try progress.finishing { try options.carryOut(.verify, onStep: progress.show) }
        guard case .verified(let report) = result else { return }
        Console.print(json ? report.json : report.text.visible)
        try judge(report, remedy: StoreError.damageRemedy)
    }

    private func mend() throws {
        let writer = try options.openWriter(verifiesSuspectStore: false)
        let progress = ProgressPrinter(isShown: !json)
        let audit = try CommandAudit("verify --repair", "{}", writer: writer)
        let report: RepairReport
        do {
            report = try progress.finishing {
                try writer.repair(
                    progress: { progress.show(ProgressMeter.Step("repairing", part: $0)) },
                    verifying: { progress.show(StoreStep($0)) })
            }
        } catch {
            audit.fail(error)
            throw error
        }
        let left = report.remaining.problemCount
        try audit.end(result: JSONObject(["repaired": report.mendedCount, "remaining": left]).json)
        try writer.close()
        Console.print(json ? report.json : report.text.visible)
        try judge(report.remaining, remedy: StoreError.leftDamageRemedy)
    }

    /// - Parameter damageRemedy: the steps after damage.
    private func judge(_ report: VerificationReport, remedy damageRemedy: String) throws {
        if report.isSound { return }
        let remedy = report.isDamaged ? damageRemedy : VerificationReport.ruleRemedy
        throw CommandError(
            code: ExitStatus.badData, description: "The store has \(report.problemNumber). \(remedy)")
    }
}
