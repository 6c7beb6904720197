import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// A store in PostgreSQL that several writers of one process write at once, each a log of its own.
///
/// Each chunk leaves a dead-letter record with its place. Their numbers follow the commits without a gap, so they tell the
/// order in which the writers' chunks have had their effect.
final class SharedStore: Sendable {
    let model: ObjectModel
    let server: PostgresServer
    let schema: String
    let time: Int64 = 1_000_000
    /// How the writers commit; tests plant faults.
    let options: PostgresOptions
    /// Whether chunks are drafted.
    let drafts: Bool
    /// Parameters of the writers' URL.
    let parameters: String

    /// A part of a log: events that were applied together.
    struct Part: Equatable {
        let log: Int
        let range: Range<Int>
    }

    init(
        _ model: ObjectModel, drafts: Bool = true, parameters: String = "",
        _ change: (inout PostgresOptions) -> Void = { _ in }
    ) throws {
        self.model = model
        self.drafts = drafts
        self.parameters = parameters
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
        var options = PostgresOptions()
        options.writers = .many
        options.lockTimeoutMilliseconds = 30_000
        change(&options)
        self.options = options
        // One writer makes the store, so that the others do not wait for it.
        try open().close()
    }

    func open(_ model: ObjectModel? = nil) throws -> Store {
        try Store.postgres(url: server.url + parameters, schema: schema, model: model ?? self.model, options: options)
    }

    /// Ends the server's process of a writer, as an administrator would. A pooler hides which process that is, so it is
    /// found by the lock of a transaction.
    func endConnection(of writer: WriterContext) throws {
        try writer.beginIfNeeded()
        let ended = try server.query(
            """
            WITH holders AS MATERIALIZED (SELECT DISTINCT pid FROM pg_locks \
            WHERE relation = '\(schema)._lease'::regclass AND granted AND pid <> pg_backend_pid()) \
            SELECT count(*) FROM holders WHERE pg_terminate_backend(pid, 5000)
            """)
        try #require(ended != "0")
    }

    func writer(_ store: Store, threshold: Int = 1000) throws -> WriterContext {
        var options = WriterContext.Options()
        options.now = { [time] in time }
        options.author = "writer"
        options.setDeletionThreshold = threshold
        return try WriterContext(store: store, options: options)
    }

    // MARK: Logs

    /// A part of a log as a chunk, with the position that it follows.
    static func chunk(_ part: Part, _ events: [ChangeSet]) -> WriterContext.Chunk {
        var position = SourcePosition(
            topic: "log", partition: Int32(part.log), nextOffset: Int64(part.range.upperBound))
        position.predecessor = part.range.lowerBound == 0 ? .nothing : .offset(Int64(part.range.lowerBound))
        let letter = DeadLetter(
            time: 1, topic: "log", partition: Int32(part.log), offset: Int64(part.range.lowerBound), stage: "decode",
            code: "test.part", reason: "\(part.range.upperBound)", key: nil, value: nil, valueBytes: 0)
        return WriterContext.Chunk(
            events: Array(events[part.range]), source: "\(part.log):\(part.range.lowerBound)", positions: [position],
            deadLetters: [letter])
    }

    /// Applies a log to its end, going back to the store's position where the store refuses, and returns how often it did.
    func apply(_ log: Int, _ events: [ChangeSet], lengths: ClosedRange<Int>, seed: UInt64) throws -> Int {
        var random = SeededRandom(seed: seed &+ UInt64(log))
        let store = try open()
        let writer = try writer(store)
        try writer.claimPartitions([StorePartition(topic: "log", partition: Int32(log))])
        var next = 0
        var refusals = 0
        while next < events.count {
            let end = min(events.count, next + Int.random(in: lengths, using: &random))
            do {
                _ = try writer.apply(Self.chunk(Part(log: log, range: next..<end), events), mayConflict: drafts)
                try writer.commit()
                next = end
            } catch {
                guard error.isRetriable else { throw error }
                refusals += 1
                next = try position(log, store)
            }
        }
        try writer.close()
        try store.close()
        return refusals
    }

    private func position(_ log: Int, _ store: Store) throws -> Int {
        let position = try store.read { try $0.positions() }.first { $0.partition == Int32(log) }
        return Int(position?.nextOffset ?? 0)
    }

    /// Applies all logs at once, each on a thread of its own, and returns how often the store refused.
    func applyAll(_ logs: [[ChangeSet]], lengths: ClosedRange<Int>, seed: UInt64) throws -> Int {
        try Self.atOnce(logs.count) { try self.apply($0, logs[$0], lengths: lengths, seed: seed) }.reduce(0, +)
    }

    /// Calls `body` with each number on a thread of its own; the machine's cores do not limit how many run.
    static func atOnce(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Int) throws -> [Int] {
        let results = Results()
        for number in 0..<count {
            results.group.enter()
            let thread = Thread {
                let result = Result { try body(number) }
                results.list.withLock { $0.append(result) }
                results.group.leave()
            }
            thread.stackSize = 8 << 20
            thread.start()
        }
        results.group.wait()
        return try results.list.withLock { $0 }.map { try $0.get() }
    }

    private final class Results: Sendable {
        let group = DispatchGroup()
        let list = Mutex<[Result<Int, any Error>]>([])
    }

    // MARK: What became of them

    /// The parts of the logs in the order of their commits.
    func order(_ store: Store) throws -> [Part] {
        try store.read { try $0.deadLetters() }.filter { $0.code == "test.part" }.sorted { $0.id < $1.id }.map {
            letter in
            Part(log: Int(letter.partition), range: Int(letter.offset)..<(Int(letter.reason) ?? 0))
        }
    }

    /// The store of a writer that has it for itself and applies the parts, one after the other.
    func serial(_ order: [Part], _ logs: [[ChangeSet]]) throws -> Store {
        let store = try server.store(model)
        let writer = try writer(store)
        for part in order {
            _ = try writer.apply(Self.chunk(part, logs[part.log]))
            try writer.commit()
        }
        return store
    }

    /// The graph, the store's own tables and the history, as lines without keys.
    static func lines(_ store: Store) throws -> [String] { try store.read { try lines($0) } }

    static func lines(_ context: ReadContext) throws -> [String] {
        var text = ""
        try context.canonicalDump { text += $0 }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        let history = try context.history(after: context.session.purgedToken()).flatMap { transaction in
            let changes = transaction.changes.map { change in
                "change \(transaction.token) \(change.kind.name) \(change.entity) \(change.identity.shown) "
                    + "\(change.properties.sorted()) \(change.tombstone ?? "-")"
            }
            return ["transaction \(transaction.token) \(transaction.source ?? "-")"] + changes.sorted()
        }
        return lines + history
    }

    /// Applies the logs, and returns the difference from one writer that applies the parts in the order of their commits.
    /// Tokens count too; nil where the stores are equal.
    func problem(_ logs: [[ChangeSet]]) throws -> String? {
        let store = try open()
        defer { try? store.close() }
        let order = try order(store)
        for (log, events) in logs.enumerated() {
            let ranges = order.filter { $0.log == log }.map(\.range)
            let ends = ranges.map(\.upperBound)
            if ranges.map(\.lowerBound) != [0] + ends.dropLast() || ends.last != events.count {
                return "the parts of log \(log) are \(ranges)"
            }
        }
        return StoreDump.difference(try Self.lines(serial(order, logs)), try Self.lines(store))
    }

    /// The number of deadlocks that the server has broken up.
    func deadlockCount() throws -> Int {
        Int(try server.query("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'")) ?? -1
    }
}
