import ArgumentParser
import Foundation
import GraphCore
import Inference
import IngestCore
import SQLiteStorage

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Infers a model and a configuration from files of your own, and says why.",
        discussion: """
            It reads CSV, JSON lines, JSON arrays and lines of kcat -J, writes FOLDER/model.yaml and FOLDER/worker.yaml,
            and tries them. It ends with 65 if each record would become a dead letter. Where records become fewer objects,
            it asks; without a terminal it ends with 78, unless --keep-last or --each-record answers.
            Example: ingest-worker init samples/work-orders.csv --folder data/mine
            With --topic it copies the topic's first records to FOLDER and infers from them.
            Example: ingest-worker init --topic work-orders --set kafka.bootstrap.servers=localhost:9092
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The files; each becomes an entity, and parts of one table one.")
    var files: [String] = []

    @Option(help: "Reads this topic of the configured broker instead of files.")
    var topic: String?

    @Option(help: "The folder to write to; it is made when it is missing.")
    var folder = "imported"

    @Option(
        help: "Reads at most this many records of each file, or of the topic; all, or 10000 of a topic, when left out.")
    var sampleRecords: Int?

    @Option(help: "Remembers at most this many distinct values of each column, for identities and references.")
    var distinctValues = 200_000

    @Option(help: "The zone of times without an offset, such as Europe/Berlin; UTC when left out.")
    var zone: String?

    @Flag(help: "Makes an object of each record, whatever repeats.")
    var eachRecord = false

    @Flag(help: "Takes records that repeat an identity for versions of one object, of which the last stays.")
    var keepLast = false

    @Flag(help: "Overwrites the files of an earlier run.")
    var force = false

    @Flag(
        help:
            "Prints one JSON object, and asks nothing: paths, entities, warnings, the outcome of each file, losses, next."
    )
    var json = false

    func validate() throws {
        if eachRecord, keepLast { throw ValidationError("--each-record and --keep-last exclude each other") }
        if files.isEmpty == (topic == nil) { throw ValidationError("name files, or a topic with --topic") }
        if let sampleRecords, sampleRecords < 1 { throw ValidationError("--sample-records takes a number from 1 up") }
        if !(1...10_000_000).contains(distinctValues) {
            throw ValidationError("--distinct-values takes a number from 1 to 10000000")
        }
        if let zone, TimeZone(identifier: zone) == nil {
            throw ValidationError("--zone takes the name of a zone, such as Europe/Berlin, not '\(zone)'")
        }
    }

    private var modelPath: String { folder + "/model.yaml" }
    private var configurationPath: String { folder + "/worker.yaml" }

    func run() throws {
        try refuseOverwriting()
        if let topic { return try infer(from: topic) }
        if files.contains("-") {
            throw CommandError(
                code: ExitStatus.usage, description: "-: each file needs a name, for its route. Name a file")
        }
        let profiles = try FileGroup.groups(of: files).flatMap {
            try FileSurvey.read($0, recordLimit: sampleRecords, distinctLimit: distinctValues)
        }
        try propose(files, next: "ingest-worker replay \(files.joined(separator: " ")) --config \(configurationPath)") {
            isEachRecord in
            let model = InferredModel(
                profiles, isComplete: sampleRecords == nil, zone: zone, isEachRecord: isEachRecord)
            try write(model)
            return model
        }
    }

    /// Prints a line of the report for people.
    private func say(_ text: String) { if !json { Console.print(text) } }

    /// Writes and tries a proposal. Asks about records that would be lost in others, and goes by the answer.
    ///
    /// - Parameter next: the command that imports.
    private func propose(
        _ paths: [String], topic: String? = nil, next: String, _ write: (Bool) throws -> InferredModel
    ) throws {
        func attempt(isEachRecord: Bool) throws -> Proposal {
            let model = try write(isEachRecord)
            report(model)
            return try tryOut(model, paths, topic: topic)
        }
        var proposal = try attempt(isEachRecord: eachRecord)
        let keepsLast = proposal.isUseful ? answer(to: proposal.losses) : true
        if keepsLast == false { proposal = try attempt(isEachRecord: true) }
        if json { Console.print(proposal.json(model: modelPath, configuration: configurationPath, next: next)) }
        if !proposal.isUseful { throw useless(paths[0]) }
        if keepsLast == nil {
            throw InferenceError(
                InferenceError.repeats, "Records become fewer objects, and nobody answers whether that is right",
                remedy: "If it is, run init again with --keep-last and --force. If not, --each-record makes an object "
                    + "of each record")
        }
        say("next: \(next)")
    }

    /// Asks about records that would be lost in others; whether the last of each stays, or nil where nobody answers.
    private func answer(to losses: [ObjectCount.Loss]) -> Bool? {
        for loss in losses {
            let fact = "\(counted(loss.records, "record")) of \(loss.entity) become \(counted(loss.objects, "object"))"
            let question = "Are records with one value versions of one object?"
            say(
                keepLast
                    ? "  look at: \(fact), because '\(loss.identity)' repeats: the last version of each stays"
                    : "  question: \(fact), because '\(loss.identity)' repeats. \(question)")
        }
        if losses.isEmpty || keepLast { return true }
        return json || eachRecord ? nil : Terminal.asks([], "Keep the last version of each?")
    }

    /// Infers from a copy of the topic's first records, which stays for later samples.
    private func infer(from topic: String) throws {
        let configuration = try options.load(takesAllStores: true).configuration
        let path = "\(folder)/\(topic.replacing(".", with: "-")).jsonl"
        try makeFolder()
        let sample = try TopicSample.write(
            topic: topic, to: path, recordLimit: sampleRecords ?? 10_000, configuration: configuration,
            logger: options.logger(configuration))
        let profiles = try FileSurvey.read(path: path, recordLimit: nil, distinctLimit: distinctValues)
        let broker = ConfigurationWriter.Broker(
            servers: configuration.kafka.properties["bootstrap.servers"] ?? "",
            registryURL: configuration.schemaRegistry.url)
        say(
            "copied \(counted(sample.records, "record")) of \(topic) to \(path)\(sample.hasMore ? "; the topic has more" : "")"
        )
        if sample.unreadable > 0 {
            say("  look at: no JSON objects: \(counted(sample.unreadable, "record")); dead letters follow")
        }
        if sample.deletions > 0 {
            say(
                "  look at: without a value: \(counted(sample.deletions, "record")); each deletes the object that its key names"
            )
        }
        let next = "ingest-worker replay --topic \(topic) --config \(configurationPath)"
        try propose([path], topic: topic, next: next) { isEachRecord in
            // A later record may lack what each of these has.
            let model = InferredModel(profiles, isComplete: false, zone: zone, isEachRecord: isEachRecord)
            try write(model, broker)
            return model
        }
    }

    private func makeFolder() throws {
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandError(
                code: ExitStatus.unavailable, description: "\(folder) cannot be made. Check the path and its rights")
        }
    }

    private func refuseOverwriting() throws {
        for path in [modelPath, configurationPath] where !force && FileManager.default.fileExists(atPath: path) {
            throw CommandError(
                code: ExitStatus.usage,
                description: "\(path) exists already. Name another --folder, or overwrite it with --force")
        }
    }

    private func write(_ model: InferredModel, _ broker: ConfigurationWriter.Broker? = nil) throws {
        let name = URL(filePath: folder).lastPathComponent
        let text = ModelWriter.text(model, name: name)
        try Store.checkFile(canKeep: try ObjectModel.parse(text, file: modelPath))
        let configuration = ConfigurationWriter.text(
            model, modelPath: modelPath, storePath: folder + "/store.sqlite", broker: broker)
        try makeFolder()
        do {
            // Neither holds a value of a record, and a worker of another user may have to read them.
            try DurableFile.write(text, to: modelPath, mode: 0o666)
            try DurableFile.write(configuration, to: configurationPath, mode: 0o666)
        } catch {
            throw CommandError(
                code: ExitStatus.unavailable, description: "\(folder) cannot be written. Check the path and its rights")
        }
    }

    private func report(_ model: InferredModel) {
        for entity in model.entities {
            let kind = entity.profile.isSingle ? "object" : "array"
            let place = entity.profile.field.map { "\(entity.profile.path), \(kind) '\($0)'" } ?? entity.profile.path
            say(
                "\(entity.name): \(counted(entity.profile.recordCount, "record")), \(counted(entity.attributes.count, "attribute")), "
                    + "identity \(entity.identity) (\(entity.identityReason)); \(place)")
            for relationship in entity.relationships where relationship.column != nil {
                say("  \(relationship.name) → \(relationship.destination): \(relationship.reason)")
            }
            if entity.profile.emptyCount > 0 {
                say("  look at: without any value: \(counted(entity.profile.emptyCount, "row")), passed over")
            }
            for (fault, passed) in entity.profile.faults.sorted(by: { $0.key < $1.key }) {
                let place = passed.firstLine.map { ", first at line \($0)" } ?? ""
                say(
                    "  look at: broken (\(fault)\(place)): \(counted(passed.count, "record")); dead letters follow")
            }
        }
        for warning in model.warnings { say("  look at: \(warning)".visible) }
        say("wrote \(modelPath) and \(configurationPath)")
    }

    /// Loads the written configuration as any command does, reads the files with it, and compares objects with records.
    private func tryOut(_ inferred: InferredModel, _ paths: [String], topic: String?) throws -> Proposal {
        let configuration = try WorkerConfiguration.load(file: configurationPath).configuration
        let model = try ObjectModel.load(path: configuration.model)
        let sample = RecordSample(configuration: configuration, model: model)
        var objects = ObjectCount(inferred, model)
        var proposal = Proposal(model: inferred)
        for path in paths {
            var first: String?
            let counts = try sample.read(path: path, topic: topic) { place, outcome in
                if case .event(let event) = outcome { objects.add(event) }
                if case .failed = outcome, first == nil { first = sample.text(place, outcome) }
            }
            say(
                "tried \(path): \(counted(counts.events, "event")), \(counted(counts.deadLetters, "dead letter"))")
            if let first { say("  the first: \(first)".visible) }
            proposal.trials.append(
                Proposal.Trial(path: path, events: counts.events, deadLetters: counts.deadLetters, firstLetter: first))
        }
        proposal.losses = objects.losses
        return proposal
    }

    private func useless(_ path: String) -> CommandError {
        CommandError(
            code: ExitStatus.badData,
            description: "Each record would become a dead letter, so an import would bring nothing. Correct "
                + "\(configurationPath) and \(modelPath) as the first dead letter says, and try again: ingest-worker check "
                + "--sample \(path) --config \(configurationPath)")
    }
}
