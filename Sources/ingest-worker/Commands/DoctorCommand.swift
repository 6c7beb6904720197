import ArgumentParser
import GraphCore
import IngestCore
import Operations

struct DoctorCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Examines configuration, store, broker and machine, and names a remedy for each finding.",
        discussion: """
            It looks at everything that 'check' looks at, and goes on after a failure. It also examines the running \
            worker, a store of up to 256 MiB, the HTTP port, topics, positions, the group and clocks. Of the machine it \
            examines certificates, limits and libraries. It writes nothing. It ends with the exit code of the first \
            failure; warnings leave 0.
            Example: ingest-worker doctor --config config/worker.yaml
            Example: ingest-worker doctor --offline --json
            """)

    @OptionGroup var options: SharedOptions

    @Flag(help: "Leaves the broker out.")
    var offline = false

    @Flag(help: "Prints one JSON object: 'ok', and the findings with name, state, message, remedy and code.")
    var json = false

    func run() throws {
        let loaded = try options.load(takesAllStores: true)
        let examiner = Examiner(loaded.configuration, isOffline: offline, logger: options.logger(loaded.configuration))
        var report = ExaminationReport(loaded, showsSettings: false, json: json)
        for examination in examiner.configured + examiner.further { report.add(examination.run()) }
        report.finish()
        if !json { Console.print(report.summary) }
        if let error = report.firstError {
            throw ExitCode(ExitStatus.code(of: error) ?? ExitStatus.internalError)
        }
    }
}

/// Prints findings as they come, or all of them as one JSON object at the end.
struct ExaminationReport {
    private let loaded: LoadedConfiguration
    private let showsSettings: Bool
    private let json: Bool
    private var findings: [Finding] = []

    /// Begins with the configuration, which could be loaded.
    init(_ loaded: LoadedConfiguration, showsSettings: Bool, json: Bool) {
        self.loaded = loaded
        self.showsSettings = showsSettings
        self.json = json
        if json { return }
        Console.print("configuration  ok  \(loaded.file ?? "defaults")")
        if showsSettings { Console.print(loaded.describe()) }
    }

    mutating func add(_ finding: Finding) {
        findings.append(finding)
        if !json { Console.print(finding.text) }
    }

    /// The error of the first finding that has failed.
    var firstError: (any Error)? { findings.lazy.compactMap(\.error).first }

    /// The counts of failures and warnings.
    var summary: String {
        let failures = findings.count(where: { $0.state == .failed })
        let warnings = findings.count(where: { $0.state == .warning })
        return "\(failures) failed, \(counted(warnings, "warning"))"
    }

    /// Prints the JSON.
    func finish() {
        guard json else { return }
        var object = JSONObject(["ok": firstError == nil, "configuration": loaded.file])
        object.add("settings", showsSettings ? loaded.entries : nil)
        object.add("findings", findings)
        Console.print(object.json)
    }
}
