import ArgumentParser
import Foundation
import GraphCore
import IngestCore
import Operations
import SQLiteStorage

struct CheckCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks configuration, model, routes, store, disk and broker, without writing anything.",
        discussion: """
            With --sample it prints the effect of each record of a file, or why the record would become a dead letter.
            Example: ingest-worker check --offline
            For each path of a route it counts the records that have it. It checks the model's limits of values. Rules of \
            relationships, counts, uniqueness and versions need the store.
            Example: ingest-worker check --sample samples/chat-events.jsonl --json
            Example: ingest-worker check --sample samples/chat-events.jsonl --expect expected.jsonl
            """)

    @OptionGroup var options: SharedOptions

    @Flag(help: "Leaves the broker out.")
    var offline = false

    @Flag(help: "Prints every setting with its origin; secrets are redacted.")
    var settings = false

    @Option(help: "Shows the effect of each record of this file, from configuration, routes and model alone.")
    var sample: String?

    @Option(help: "With --sample: reads the file as records of this topic, not by its name.")
    var topic: String?

    @Flag(help: "Prints one JSON object; with --sample one per record.")
    var json = false

    @Flag(help: "Prints the JSON Schema of the configuration file, for editors, and checks nothing.")
    var schema = false

    @Flag(help: "Prints a complete configuration file with each setting's default and meaning, and checks nothing.")
    var defaults = false

    @Option(help: "With --sample: compares each outcome with this file's, and exits with 65 where one differs.")
    var expect: String?

    @Option(help: "With --sample: writes the outcomes to this file, for --expect.")
    var record: String?

    func run() throws {
        if schema { return Console.write(ConfigurationSchema.json) }
        if defaults { return Console.write(ConfigurationFile.yaml) }
        if let sample { return try show(sample) }
        if topic != nil || expect != nil || record != nil {
            throw ValidationError("--topic, --expect and --record are for --sample FILE")
        }
        let loaded = try options.load(takesAllStores: true)
        let configuration = loaded.configuration
        let logger = options.logger(configuration)
        let examiner = Examiner(configuration, isOffline: offline, logger: logger)
        var report = ExaminationReport(loaded, showsSettings: settings, json: json)
        for examination in examiner.configured {
            let finding = examination.run()
            if let error = finding.error {
                if json { report.add(finding) }
                report.finish()
                throw error
            }
            report.add(finding)
        }
        report.finish()
    }

    private func show(_ path: String) throws {
        let configuration = try options.load(takesAllStores: true).configuration
        try CommandError.checkFile(path)
        let model = try ObjectModel.load(path: configuration.model)
        let sample = RecordSample(configuration: configuration, model: model)
        var expectation = try expect.map { try SampleExpectation(try Self.content(of: $0)) }
        var recorded = ""
        let counts = try sample.read(path: path, topic: topic) { place, outcome in
            Console.print(json ? sample.json(place, outcome) : sample.text(place, outcome).visible)
            let kept = sample.json(place, outcome, hasReason: false)
            expectation?.compare(kept)
            if record != nil { recorded += kept + "\n" }
        }
        for (index, report) in sample.routes.enumerated() {
            Console.print(json ? report.json(number: index + 1) : report.text(number: index + 1))
        }
        for gap in sample.gaps { Console.print(json ? gap.json : gap.text.visible) }
        if !json {
            Console.print(
                "\(counted(counts.events, "event")), \(counts.filtered) filtered, \(counted(counts.deadLetters, "dead letter")); "
                    + "nothing was written. Rules of relationships, counts, uniqueness and versions need the store")
        }
        if let record { try DurableFile.write(recorded, to: record) }
        expectation?.finish()
        if let differences = expectation?.differences, !differences.isEmpty { throw Self.error(of: differences) }
    }

    private static func content(of path: String) throws -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw CommandError(
                code: ExitStatus.badData,
                description: "The expectations cannot be read from \(path). Make them with --record")
        }
    }

    private static func error(of differences: [SampleExpectation.Difference]) -> CommandError {
        let shown = differences.prefix(10).map { difference in
            "line \(difference.line)\n  expected  \(difference.expected ?? "nothing")\n  found     \(difference.found ?? "nothing")"
        }
        return CommandError(
            code: ExitStatus.badData,
            description: "\(differences.count) of the outcomes are not the expected ones:\n"
                + shown.joined(separator: "\n") + "\nCorrect the routes, or record the outcomes again with --record")
    }
}
