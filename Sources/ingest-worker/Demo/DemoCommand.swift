import ArgumentParser
import Foundation
import GraphCore
import IngestCore
import KafkaClient
import Operations
import RecordDecoding
import SQLiteStorage
import ServiceLifecycle

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows everything at work with an embedded broker: events in, a sound store, notifications out.",
        discussion: "Nothing has to be installed or configured. Example: ingest-worker demo --seconds 20")

    @OptionGroup var options: SharedOptions

    @Option(help: "How long to send events, in seconds; start and stop take a few more.")
    var seconds = 15

    @Option(help: "Events per second.")
    var rate = 400

    @Option(help: "The seed of the made-up events.")
    var seed: UInt64 = 1

    func validate() throws {
        guard seconds > 0, rate > 0 else { throw ValidationError("--seconds and --rate have to be at least 1.") }
    }

    func run() async throws {
        let broker = try EmbeddedBroker()
        for topic in [DemoEvents.chatTopic, DemoEvents.workOrderTopic] { try broker.createTopic(topic, partitions: 2) }
        try broker.createTopic(Self.notificationTopic, partitions: 1)
        let loaded = try options.load()
        let configuration = try adjusted(loaded, broker)
        let isModelChosen = loaded.entries.contains { $0.key == "model" && $0.origin.isOverride }
        let model =
            if isModelChosen {
                try ObjectModel.load(path: configuration.model)
            } else {
                try ObjectModel.parse(DemoModel.text, file: "the demo's model")
            }
        let events = DemoEvents(seed: seed, startTime: WriterContext.systemTime(), model: model)
        guard events.isPossible else {
            throw CommandError(
                code: ExitStatus.configuration,
                description: "The model \(model.name) has neither chats nor work orders. Leave --set model out")
        }
        let logger = options.logger(configuration)
        let tally = DemoTally()
        var hooks = WorkerRuntime.Hooks()
        hooks.onDeadLetter = { _, code, _ in tally.noteDeadLetter(code) }
        hooks.onHTTPBound = { tally.noteHTTP(port: $0) }
        let runtime = try await WorkerRuntime.open(
            configuration: configuration, model: model, logger: logger, hooks: hooks)
        let script = DemoScript(
            broker: broker.bootstrapServers, runtime: runtime, tally: tally, seconds: seconds, rate: rate,
            notificationTopic: Self.notificationTopic)
        try await script.play(events)
        try DemoReport(model: model, configuration: configuration, runtime: runtime, tally: tally).show()
    }

    private static let notificationTopic = "ingest.changes"

    /// The configuration with the embedded broker, and with a new store and a free port unless they are given.
    private func adjusted(_ loaded: LoadedConfiguration, _ broker: EmbeddedBroker) throws -> WorkerConfiguration {
        var configuration = loaded.configuration
        func isGiven(_ key: String) -> Bool { loaded.entries.contains { $0.key == key && $0.origin.isOverride } }
        configuration.topics = [
            TopicConfiguration(name: DemoEvents.chatTopic), TopicConfiguration(name: DemoEvents.workOrderTopic),
        ]
        configuration.kafka.properties = KafkaProperties([
            "bootstrap.servers": broker.bootstrapServers, "group.id": "demo", "session.timeout.ms": "30000",
        ])
        configuration.notifications.topic = Self.notificationTopic
        if !isGiven("store.path"), configuration.isStoreInFile {
            let parent = FileManager.default.temporaryDirectory.path
            let folder = try DurableFile.makeUniqueFolder(in: parent, prefix: "ingest-worker-demo-")
            configuration.store.path = folder + "/demo.sqlite"
        }
        if !isGiven("http.port") { configuration.http.port = 0 }
        if !isGiven("log.level") { configuration.log.level = .critical }
        return configuration
    }
}

extension ConfigurationOrigin {
    /// Tells whether somebody set the value for this run.
    var isOverride: Bool {
        switch self {
        case .flag, .environment: true
        default: false
        }
    }
}
