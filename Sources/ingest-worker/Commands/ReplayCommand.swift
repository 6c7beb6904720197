import ArgumentParser
import GraphCore
import IngestCore
import KafkaClient
import Logging
import SQLiteStorage

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Reads record files (JSON lines, JSON arrays, CSV; plain or gzip), or a topic, into the store.",
        discussion: """
            A second run continues where the first one stopped. If that was the end, it changes nothing.
            It ends with 65 if records of this run became dead letters, unless --allow-dead-letters is given.
            It reads a topic up to the end that the topic has at the start. It neither joins the group nor commits.
            Example: ingest-worker replay samples/chat-events.jsonl --allow-dead-letters --set store.path=data/chat.sqlite
            Example: ingest-worker replay --topic chat-events --from-timestamp 2026-03-01 --set store.path=data/new.sqlite
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The files, in order; - reads standard input.")
    var files: [String] = []

    @Option(name: .customLong("topic"), help: "Reads this topic of the configuration instead of files.")
    var topics: [String] = []

    @Option(
        help: "With --topic: begins with this offset of each partition, or where the store is ('stored').")
    var fromOffset: String?

    @Option(
        help: "With --topic: begins with the first record of this time or later. Give \(Timestamp.forms).")
    var fromTimestamp: String?

    @Option(help: "With --topic: ends before this offset of each partition; 'end' is where the topic ends now.")
    var toOffset = "end"

    @Flag(help: "Reads each file from its beginning, not from where an earlier run stopped.")
    var restart = false

    @Option(
        help: "Sends the records to a Kafka topic instead of applying them; lines of kcat -J as the records in them.")
    var toKafka: String?

    @Flag(help: "Ends with 0 although records became dead letters; without this flag, with 65.")
    var allowDeadLetters = false

    @Flag(help: "Prints the summary as JSON.")
    var json = false

    private var topic: String? { topics.first }

    func validate() throws {
        if topics.count > 1 { throw ValidationError("--topic names one topic; replay them one after another") }
        if files.isEmpty == (topic == nil) { throw ValidationError("name files, or a topic with --topic") }
        if topic == nil {
            if fromOffset != nil || fromTimestamp != nil || toOffset != "end" {
                throw ValidationError("--from-offset, --from-timestamp and --to-offset are for --topic")
            }
        } else if restart || toKafka != nil {
            throw ValidationError("--restart and --to-kafka are for files")
        }
        if fromOffset != nil, fromTimestamp != nil {
            throw ValidationError("--from-offset and --from-timestamp exclude each other")
        }
        if let text = fromOffset, text != "stored", (Int64(text) ?? -1) < 0 {
            throw ValidationError("--from-offset takes a number from 0 up, or 'stored'")
        }
        if toOffset != "end", (Int64(toOffset) ?? -1) < 0 {
            throw ValidationError("--to-offset takes a number from 0 up, or 'end'")
        }
        if let first = fromOffset.flatMap({ Int64($0) }), let end = Int64(toOffset), first > end {
            throw ValidationError("--from-offset \(first) is beyond --to-offset \(end)")
        }
        _ = try Timestamp.read(fromTimestamp, of: "--from-timestamp")
    }

    private func request() throws -> TopicReplayRequest? {
        guard let topic else { return nil }
        let time = try Timestamp.read(fromTimestamp, of: "--from-timestamp")
        let start =
            fromOffset.map { text in Int64(text).map { TopicReplayRequest.Start.offset($0) } ?? .stored }
            ?? time.map { .time($0) }
        return TopicReplayRequest(topic: topic, start: start ?? .earliest, end: Int64(toOffset))
    }

    func run() throws {
        let configuration = try options.load(takesAllStores: toKafka != nil).configuration
        let logger = options.logger(configuration)
        let model = try ObjectModel.load(path: configuration.model)
        for path in files { try CommandError.checkFile(path) }
        if let topic, !configuration.topics.contains(where: { $0.name == topic }) {
            // Before a store is made for nothing.
            throw TopicReplayError.unconfigured(topic)
        }
        let progress = ProgressPrinter(isShown: !json)
        if let topic = toKafka {
            let sender = try ReplaySender(configuration: configuration, model: model, topic: topic, logger: logger)
            sender.onProgress = progress.show
            let count = try files.reduce(0) { try $0 + sender.send(path: $1) }
            progress.finish()
            Console.print(json ? JSONObject(["records": count]).json : "\(counted(count, "record")) sent to \(topic)")
            return
        }
        try apply(configuration, model, logger, progress)
    }

    private func apply(
        _ configuration: WorkerConfiguration, _ model: ObjectModel, _ logger: Logger, _ progress: ProgressPrinter
    ) throws {
        let interruption = Interruption()
        let started = MonotonicClock.seconds()
        var summary = try progress.finishing {
            try configuration.withPipeline(model: model, logger: logger) { pipeline in
                try replay(into: pipeline, configuration, model, logger, progress, interruption)
            }
        }
        summary.seconds = MonotonicClock.seconds() - started
        Console.print(json ? summary.json : summary.text.visible)
        try checkEnd(summary.summary.deadLetters, interruption)
    }

    /// Reads everything, with an entry in the store's audit.
    private func replay(
        into pipeline: IngestPipeline, _ configuration: WorkerConfiguration, _ model: ObjectModel, _ logger: Logger,
        _ progress: ProgressPrinter, _ interruption: Interruption
    ) throws -> ReplaySummary {
        var summary = ReplaySummary(summary: pipeline.summary, seconds: 0, model: model)
        let audit = try CommandAudit("replay", source, writer: pipeline.writer)
        do {
            try read(into: &summary, pipeline, configuration, logger, progress, interruption)
        } catch {
            // A chunk that cannot be saved must not be committed by the entry.
            let mayWrite = !pipeline.writer.store.needsVerification
            if mayWrite, (try? pipeline.finish()) != nil { audit.fail(error) }
            throw error
        }
        summary.summary = pipeline.summary
        try audit.end(result: summary.counts)
        return summary
    }

    /// The topic or the files, as a JSON object.
    private var source: String {
        (topic.map { JSONObject(["topic": $0]) } ?? JSONObject(["files": files])).json
    }

    /// Reads the topic or the files, as far as nobody interrupts the command.
    private func read(
        into summary: inout ReplaySummary, _ pipeline: IngestPipeline, _ configuration: WorkerConfiguration,
        _ logger: Logger, _ progress: ProgressPrinter, _ interruption: Interruption
    ) throws {
        if let request = try request() {
            let replay = TopicReplay(
                pipeline: pipeline, configuration: configuration, logger: logger,
                isStopping: { interruption.isRequested })
            replay.onProgress = progress.show
            summary.partitions = try replay.replay(request)
            return
        }
        let engine = ReplayEngine(
            pipeline: pipeline, configuration: configuration, logger: logger,
            isStopping: { interruption.isRequested })
        engine.onProgress = progress.show
        for path in files where !interruption.isRequested {
            summary.results.append(try engine.replay(path: path, restarts: restart))
        }
    }

    /// Ends the command with an exit code of its own where it was interrupted or kept dead-letter records.
    private func checkEnd(_ letters: Int, _ interruption: Interruption) throws {
        if interruption.isRequested {
            throw CommandError(
                code: ExitStatus.tryAgain, description: "Interrupted; run the same command again to continue")
        }
        if letters > 0, !allowDeadLetters {
            throw CommandError(
                code: ExitStatus.badData,
                description: "\(letters) \(letters == 1 ? "record is a dead letter" : "records are dead letters"); the "
                    + "others are applied. Correct the cause and run 'ingest-worker dead-letters retry', or pass "
                    + "--allow-dead-letters")
        }
    }
}
