import Logging
import ObjectGraph

@testable import IngestCore
@testable import RecordDecoding

/// A pipeline over a store in memory, with a clock that stands still until it is moved.
final class PipelineFixture {
    let store: Store
    let writer: WriterContext
    let pipeline: IngestPipeline
    let decoder: TestDecoder
    /// The clock's seconds.
    var now = 0.0
    /// The positions that each commit made last.
    var commits: [[SourcePosition]] = []

    /// Opens a store, an own one in memory where none is given.
    init(
        model: ObjectModel? = nil, store: Store? = nil, options: WriterContext.Options = .init(),
        metrics: WorkerMetrics? = nil, tracing: WorkerTracing = WorkerTracing(nil),
        _ change: (inout WorkerConfiguration) -> Void = { _ in }
    ) throws {
        let model = try model ?? store?.model ?? TestModels.chat()
        self.store = try store ?? Store.inMemory(model: model)
        writer = try WriterContext(store: self.store, options: options)
        var configuration = WorkerConfiguration()
        change(&configuration)
        decoder = try TestDecoder(model, limits: configuration.limits)
        let clock = Clock()
        pipeline = IngestPipeline(
            writer: writer, configuration: configuration, metrics: metrics, logger: .silent,
            clock: WorkerClock(
                seconds: { clock.owner?.now ?? 0 }, microseconds: WriterContext.systemTime), tracing: tracing)
        clock.owner = self
        pipeline.onCommit = { [unowned self] in commits.append($0) }
    }

    private final class Clock: @unchecked Sendable {
        weak var owner: PipelineFixture?
    }

    /// Adds a record with its own offset.
    func add(_ record: TestRecord, hasBacklog: Bool = true) throws {
        try record.deliver { record in
            try pipeline.add(record, nextOffset: record.place.offset + 1, hasBacklog: hasBacklog) {
                record throws(DecodeError) in try decoder.decoder.decode(record)
            }
        }
    }

    /// Adds the records from where the store's position stands, to the end, and commits.
    func feed(_ records: [TestRecord]) throws {
        let start = try store.read { try $0.positions() }.first?.nextOffset ?? 0
        for record in records[Int(start)...] { try add(record) }
        try pipeline.finish()
    }

    func dump() throws -> String { try store.canonicalDump() }
    func positions() throws -> [SourcePosition] { try store.read { try $0.positions() } }
    func deadLetters() throws -> [DeadLetter] { try store.read { try $0.deadLetters(limit: 10_000) } }

    /// The identities of an entity's objects, sorted.
    func identities(_ entity: String) throws -> [String] {
        try store.read { try $0.fetch(FetchRequest(entity)) }.compactMap { $0["id"]?.text }.sorted()
    }
}

extension Logger {
    /// Writes nothing.
    static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

extension Store {
    func canonicalDump() throws -> String {
        var text = ""
        try read { try $0.canonicalDump { text += $0 } }
        return text
    }
}

/// CloudEvents as text.
enum Events {
    static func event(_ type: String, _ data: String, time: String? = nil) -> String {
        let time = time.map { ",\"time\":\"\($0)\"" } ?? ""
        return
            "{\"specversion\":\"1.0\",\"id\":\"e\",\"source\":\"/test\",\"type\":\"\(type)\"\(time),\"data\":\(data)}"
    }

    static func message(_ id: String, chat: String = "c1", body: String = "Hello") -> String {
        event("message.created", "{\"id\":\"\(id)\",\"chat\":\"\(chat)\",\"body\":\"\(body)\"}")
    }

    /// Gives events the offsets 0, 1, 2 and so on.
    static func records(_ events: [String]) -> [TestRecord] {
        events.enumerated().map { TestRecord($1, offset: Int64($0)) }
    }
}
