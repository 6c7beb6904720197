import ArgumentParser
import Foundation
import IngestCore
import KafkaClient
import Logging
import ObjectGraph

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Reads record files (JSON lines, JSON arrays, CSV; plain or gzip) into the store.",
        discussion: """
            A second run goes on where the first one stopped, and changes nothing if that was the end.
            Example: ingest-worker replay samples/chat-events.jsonl --set store.path=data/chat.sqlite
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The files, in order; - reads standard input.")
    var files: [String]

    @Flag(help: "Begins each file anew instead of where an earlier run stopped.")
    var restart = false

    @Option(help: "Sends the records to a Kafka topic instead of applying them.")
    var toKafka: String?

    @Flag(help: "Prints the summary as JSON.")
    var json = false

    func run() throws {
        let configuration = try options.load().configuration
        let logger = options.logger(configuration)
        let model = try ObjectModel.load(path: configuration.model)
        for path in files where path != "-" && !FileManager.default.fileExists(atPath: path) {
            throw CommandError(code: ExitStatus.badData, description: "There is no file at \(path). Check the path")
        }
        let bar = ProgressBar(isShown: Console.isTerminal)
        if let topic = toKafka {
            let sender = try ReplaySender(configuration: configuration, model: model, topic: topic, logger: logger)
            sender.onProgress = bar.show
            let count = try files.reduce(0) { try $0 + sender.send(path: $1) }
            bar.finish()
            Console.print(json ? "{\"records\":\(count)}" : "\(count) records sent to \(topic)")
            return
        }
        try apply(configuration, model, logger, bar)
    }

    private func apply(
        _ configuration: WorkerConfiguration, _ model: ObjectModel, _ logger: Logger, _ bar: ProgressBar
    ) throws {
        let store = try Store.open(path: configuration.store.path, model: model, options: configuration.storeOptions)
        let writer = try WriterContext(store: store, options: configuration.writerOptions)
        let pipeline = IngestPipeline(writer: writer, configuration: configuration, logger: logger)
        let interruption = Interruption()
        let engine = ReplayEngine(
            pipeline: pipeline, configuration: configuration, logger: logger,
            isStopping: { interruption.isRequested })
        engine.onProgress = bar.show
        let started = HealthMonitor.monotonicSeconds()
        var results: [ReplayEngine.FileResult] = []
        do {
            for path in files where !interruption.isRequested {
                results.append(try engine.replay(path: path, restarts: restart))
            }
        } catch {
            // What was read before the fault is good; it is kept, and the position with it.
            try? pipeline.finish()
            try? writer.close()
            bar.finish()
            throw error
        }
        try writer.close()
        bar.finish()
        let seconds = HealthMonitor.monotonicSeconds() - started
        let summary = ReplaySummary(summary: pipeline.summary, results: results, seconds: seconds, model: model)
        Console.print(json ? summary.json : summary.text)
        if interruption.isRequested {
            throw CommandError(
                code: ExitStatus.tryAgain, description: "Interrupted; run the same command again to go on")
        }
    }
}
