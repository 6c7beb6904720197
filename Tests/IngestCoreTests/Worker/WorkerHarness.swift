import Foundation
import KafkaClient
import Logging
import ObjectGraph
import TestSupport

@testable import IngestCore
@testable import Operations

/// Runs a whole worker inside the test process, against an embedded broker.
final class WorkerHarness {
    let broker: EmbeddedBroker
    let folder: URL
    let topic = "events"
    let changes = "changes"
    var configuration = WorkerConfiguration()
    var logger = Logger.silent
    private let producer: Producer
    private(set) var runtime: WorkerRuntime?
    private var task: Task<Void, any Error>?

    /// The package's folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static let model: ObjectModel = {
        let path = root.appending(path: "config/models/chat.yaml").path
        // swift-format-ignore: NeverUseForceTry
        return try! ObjectModel.load(path: path)
    }()

    init(partitions: Int = 1) throws {
        broker = try EmbeddedBroker()
        try broker.createTopic(topic, partitions: partitions)
        try broker.createTopic(changes, partitions: 1)
        folder = FileManager.default.temporaryDirectory.appending(path: "worker-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        producer = try Producer(configuration: [
            "bootstrap.servers": broker.bootstrapServers, "message.max.bytes": "40000000", "compression.codec": "gzip",
        ])
        configuration.store.path = folder.appending(path: "store.sqlite").path
        configuration.topics = [TopicConfiguration(name: topic)]
        configuration.notifications.topic = changes
        configuration.http.enabled = false
        configuration.kafka.properties = KafkaProperties([
            "bootstrap.servers": broker.bootstrapServers, "group.id": "group", "session.timeout.ms": "6000",
            "fetch.message.max.bytes": "40000000", "receive.message.max.bytes": "80000000",
        ])
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    var storePath: String { configuration.store.path }

    /// Sends records in their order and waits until the broker has them.
    func send(_ values: [[UInt8]?], keys: [String?] = [], partition: Int32? = 0) throws {
        for (index, value) in values.enumerated() {
            let key = index < keys.count ? keys[index] : nil
            try producer.enqueue(
                ProducerRecord(topic: topic, partition: partition, key: key.map { [UInt8]($0.utf8) }, value: value))
        }
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
    }

    func send(_ values: [String], partition: Int32? = 0) throws {
        try send(values.map { [UInt8]($0.utf8) }, partition: partition)
    }

    /// A message's event.
    static func message(_ id: String, chat: String = "c", body: String = "text") -> String {
        """
        {"specversion":"1.0","id":"\(id)","source":"/test","type":"message.upserted",\
        "data":{"id":"\(id)","chat":"\(chat)","body":"\(body)"}}
        """
    }

    /// Starts the worker, after `prepare` has changed it.
    func start(
        hooks: WorkerRuntime.Hooks = WorkerRuntime.Hooks(), prepare: (ConsumerWorker) -> Void = { _ in }
    ) throws {
        let runtime = try WorkerRuntime(
            configuration: configuration, model: Self.model, logger: logger, hooks: hooks)
        self.runtime = runtime
        prepare(runtime.worker)
        task = Task { try await runtime.run(signals: []) }
    }

    /// Stops the worker as a signal does, and rethrows what it ended with.
    func stop() async throws {
        await runtime?.requestStop()
        try await task?.value
        task = nil
        runtime = nil
    }

    /// Waits without blocking the threads that run tests.
    func wait(for what: String, until condition: () throws -> Bool) async throws {
        var stillness = Stillness()
        while try !condition() {
            if stillness.isTooLong() {
                let failing =
                    runtime?.health.readiness().filter { !$0.isOK }.map { "\($0.name): \($0.reason ?? "")" } ?? []
                let positions = try runtime?.store.read { try $0.positions() } ?? []
                throw BrokerProcess.Failure(
                    description: "gave up waiting for \(what); not ready: \(failing); positions: \(positions)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func waitForPosition(_ offset: Int64, partition: Int32 = 0) async throws {
        try await wait(for: "offset \(offset)") { try position(partition) >= offset }
    }

    func position(_ partition: Int32 = 0) throws -> Int64 {
        let positions = try runtime?.store.read { try $0.positions() } ?? []
        return positions.first { $0.partition == partition }?.nextOffset ?? 0
    }

    /// Reads the store after the worker has ended.
    func read<Result>(_ body: (ReadContext) throws -> Result) throws -> Result {
        let store = try Store.openForReading(path: storePath, model: Self.model)
        defer { try? store.close() }
        return try store.read(body)
    }

    func isReady() -> Bool { runtime?.health.readiness().allSatisfy { $0.isOK } ?? false }
}
