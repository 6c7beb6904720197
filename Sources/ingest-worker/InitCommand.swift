import ArgumentParser
import Foundation
import IngestCore
import ObjectGraph

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Infers a model and a configuration from files of your own, and says why.",
        discussion: """
            It reads CSV, JSON lines, JSON arrays and lines of kcat -J, writes FOLDER/model.yaml and FOLDER/worker.yaml,
            and tries them. It ends with 65 if each record would become a dead letter.
            Example: ingest-worker init samples/work-orders.csv --folder data/mine
            With --topic it copies the topic's first records to FOLDER and infers from them.
            Example: ingest-worker init --topic work-orders --set kafka.bootstrap.servers=localhost:9092
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The files; each becomes an entity.")
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

    @Flag(help: "Overwrites the files of an earlier run.")
    var force = false

    func validate() throws {
        if files.isEmpty == (topic == nil) { throw ValidationError("name files, or a topic with --topic") }
        if let sampleRecords, sampleRecords < 1 { throw ValidationError("--sample-records takes a number from 1 up") }
        if !(1...10_000_000).contains(distinctValues) {
            throw ValidationError("--distinct-values takes a number from 1 to 10000000")
        }
    }

    private var modelPath: String { folder + "/model.yaml" }
    private var configurationPath: String { folder + "/worker.yaml" }

    func run() throws {
        try refuseOverwriting()
        if let topic { return try infer(from: topic) }
        var names: Set<String> = []
        for path in files {
            let name = URL(filePath: path).lastPathComponent
            guard path != "-", names.insert(name).inserted else {
                throw CommandError(
                    code: ExitStatus.usage,
                    description: "\(path): each file needs a name of its own, for its route. Rename it")
            }
        }
        let profiles = try files.flatMap {
            try FileSurvey.read(path: $0, recordLimit: sampleRecords, distinctLimit: distinctValues)
        }
        let model = InferredModel(profiles, isComplete: sampleRecords == nil)
        try write(model)
        report(model)
        try tryOut(files)
        Console.print("next: ingest-worker replay \(files.joined(separator: " ")) --config \(configurationPath)")
    }

    /// Infers from a copy of the topic's first records, which stays for later samples.
    private func infer(from topic: String) throws {
        let configuration = try options.load().configuration
        let path = "\(folder)/\(topic.replacing(".", with: "-")).jsonl"
        try makeFolder()
        let sample = try TopicSample.write(
            topic: topic, to: path, recordLimit: sampleRecords ?? 10_000, configuration: configuration,
            logger: options.logger(configuration))
        let profiles = try FileSurvey.read(path: path, recordLimit: nil, distinctLimit: distinctValues)
        // A later record may lack what each of these has.
        let model = InferredModel(profiles, isComplete: false)
        let servers = configuration.kafka.properties["bootstrap.servers"] ?? ""
        try write(model, .init(servers: servers, registryURL: configuration.schemaRegistry.url))
        Console.print(
            "copied \(counted(sample.records, "record")) of \(topic) to \(path)\(sample.hasMore ? "; the topic has more" : "")"
        )
        if sample.unreadable > 0 {
            Console.print("  look at: no JSON objects: \(counted(sample.unreadable, "record")); dead letters follow")
        }
        if sample.deletions > 0 {
            Console.print(
                "  look at: without a value: \(counted(sample.deletions, "record")); each deletes the object that its key names"
            )
        }
        report(model)
        try tryOut([path], topic: topic)
        Console.print("next: ingest-worker replay --topic \(topic) --config \(configurationPath)")
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
        let configuration = ConfigurationWriter.text(
            model, modelPath: modelPath, storePath: folder + "/store.sqlite", broker: broker)
        try makeFolder()
        do {
            try ModelWriter.text(model, name: name).write(toFile: modelPath, atomically: true, encoding: .utf8)
            try configuration.write(toFile: configurationPath, atomically: true, encoding: .utf8)
        } catch {
            throw CommandError(
                code: ExitStatus.unavailable, description: "\(folder) cannot be written. Check the path and its rights")
        }
    }

    private func report(_ model: InferredModel) {
        for entity in model.entities {
            let kind = entity.profile.isSingle ? "object" : "array"
            let place = entity.profile.field.map { "\(entity.profile.path), \(kind) '\($0)'" } ?? entity.profile.path
            Console.print(
                "\(entity.name): \(counted(entity.profile.recordCount, "record")), \(counted(entity.attributes.count, "attribute")), "
                    + "identity \(entity.identity) (\(entity.identityReason)); \(place)")
            for relationship in entity.relationships where relationship.column != nil {
                Console.print("  \(relationship.name) → \(relationship.destination): \(relationship.reason)")
            }
            for (fault, passed) in entity.profile.faults.sorted(by: { $0.key < $1.key }) {
                let place = passed.firstLine.map { ", first at line \($0)" } ?? ""
                Console.print(
                    "  look at: broken (\(fault)\(place)): \(counted(passed.count, "record")); dead letters follow")
            }
        }
        for warning in model.warnings { Console.print("  look at: \(warning)".visible) }
        Console.print("wrote \(modelPath) and \(configurationPath)")
    }

    /// Loads what was written as any command does, and reads the files with it.
    private func tryOut(_ paths: [String], topic: String? = nil) throws {
        let configuration = try WorkerConfiguration.load(file: configurationPath).configuration
        let sample = try RecordSample(
            configuration: configuration, model: try ObjectModel.load(path: configuration.model))
        var (events, deadLetters) = (0, 0)
        for path in paths {
            var first: String?
            let counts = try sample.read(path: path, topic: topic) { place, outcome in
                if case .failed = outcome, first == nil { first = sample.text(place, outcome) }
            }
            Console.print(
                "tried \(path): \(counted(counts.events, "event")), \(counted(counts.deadLetters, "dead letter"))")
            if let first { Console.print("  the first: \(first)".visible) }
            (events, deadLetters) = (events + counts.events, deadLetters + counts.deadLetters)
        }
        guard events == 0, deadLetters > 0 else { return }
        throw CommandError(
            code: ExitStatus.badData,
            description: "Each record would become a dead letter, so an import would bring nothing. Correct "
                + "\(configurationPath) and \(modelPath) as the first dead letter says, and try again: ingest-worker check "
                + "--sample \(paths[0]) --config \(configurationPath)")
    }
}
