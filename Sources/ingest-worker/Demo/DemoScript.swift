import Foundation
import GraphCore
import IngestCore
import KafkaClient
import Operations
import RecordDecoding
import Synchronization

/// Plays the demo: runs the worker, sends events, reads notifications, draws the live view, and ends it all.
struct DemoScript {
    let broker: String
    let runtime: WorkerRuntime
    let tally: DemoTally
    let seconds: Int
    let rate: Int
    let notificationTopic: String

    func play(_ events: DemoEvents) async throws {
        let reader = DemoReader(broker: broker, topic: notificationTopic, tally: tally)
        try reader.start()
        defer { reader.stop() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await runtime.run() }
            group.addTask { try await send(events) }
            let view = Task { await draw() }
            defer { view.cancel() }
            // The worker ends when the sender has asked it to, when a signal comes, or when it fails.
            while try await group.next() != nil {}
        }
        await awaitNotifications()
    }

    private func send(_ events: DemoEvents) async throws {
        var events = events
        let producer = try Producer(configuration: ["bootstrap.servers": broker])
        try await Task.sleep(for: .milliseconds(200))
        let total = seconds * rate
        let started = ContinuousClock.now
        for number in 0..<total {
            if runtime.isStopping { break }
            let event = events.next()
            try producer.enqueue(
                ProducerRecord(topic: event.topic, key: [UInt8](event.key.utf8), value: [UInt8](event.value.utf8)))
            tally.noteSent(event)
            if number % 20 == 0 {
                let due = started + .milliseconds(Int64(number) * 1000 / Int64(rate))
                try await Task.sleep(until: due, clock: .continuous)
            }
        }
        try producer.flush(timeoutMilliseconds: 10_000)
        try await awaitConsumption()
        try producer.close()
        if !runtime.isStopping { tally.noteEnd() }
        await runtime.requestStop()
    }

    /// Waits until the worker has read everything that was sent.
    private func awaitConsumption() async throws {
        for _ in 0..<200 where runtime.metrics.records.value < tally.current.sent && !runtime.isStopping {
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func awaitNotifications() async {
        for _ in 0..<300 where tally.current.lastToken < runtime.deliveredToken ?? 0 {
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    // MARK: Live view

    private func draw() async {
        var lineCount = 0
        while !Task.isCancelled {
            let lines = view()
            if Console.isTerminal {
                let up = lineCount > 0 ? "\u{1B}[\(lineCount)A" : ""
                let text = lines.map { "\u{1B}[2K\($0)\n" }.joined()
                Console.draw(up + text)
                lineCount = lines.count
                try? await Task.sleep(for: .milliseconds(250))
            } else {
                Console.note(lines.joined(separator: " | "))
                try? await Task.sleep(for: .seconds(2))
            }
        }
    }

    private func view() -> [String] {
        let counts = tally.current
        let checks = runtime.health.readiness()
        let failing = checks.filter { !$0.isOK }.map { "\($0.name): \($0.reason ?? "")" }
        let port = counts.httpPort.map { "http://127.0.0.1:\($0)/status" } ?? "starting"
        return [
            "events         \(counts.sent) sent, \(runtime.metrics.records.value) read",
            "store          \(counted(runtime.metrics.commits.value, "commit")), token \(Int(runtime.metrics.historyToken.value))",
            "notifications  \(counts.notifications) received with \(counted(counts.changes, "change"))",
            "failed         \(counted(counts.deadLetters.values.reduce(0, +), "dead letter")), \(runtime.metrics.stale.value) stale",
            "health         \(failing.isEmpty ? "ready" : failing.joined(separator: "; "))  \(port)",
        ]
    }
}

/// Reads the notifications as a downstream reader would.
final class DemoReader: Sendable {
    private let consumer: Mutex<Consumer?> = Mutex(nil)
    private let broker: String
    private let topic: String
    private let tally: DemoTally
    private let isStopping = Atomic<Bool>(false)

    init(broker: String, topic: String, tally: DemoTally) {
        self.broker = broker
        self.topic = topic
        self.tally = tally
    }

    func start() throws {
        let consumer = try Consumer(
            configuration: [
                "bootstrap.servers": broker, "group.id": "demo-reader", "auto.offset.reset": "earliest",
                "session.timeout.ms": "30000",
            ], topics: [topic])
        self.consumer.withLock { $0 = consumer }
        Thread { [self] in read(consumer) }.start()
    }

    private func read(_ consumer: Consumer) {
        let parser = JSONParser()
        while !isStopping.load(ordering: .acquiring) {
            guard let batch = try? consumer.poll(maxRecords: 100, timeoutMilliseconds: 100) else { return }
            for record in batch {
                guard let value = record.value else { continue }
                try? parser.withValue(of: value) { event in
                    let data = event.member("data")
                    tally.noteNotification(
                        token: data?.member("token")?.int64 ?? 0, changes: data?.member("changes")?.count ?? 0)
                }
            }
        }
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        consumer.withLock { $0 }?.wake()
    }
}
