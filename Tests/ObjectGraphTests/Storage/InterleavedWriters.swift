import Foundation
import ObjectGraph
import Synchronization
import TestSupport

@testable import GraphCore
@testable import MemoryStorage
@testable import PostgresStorage

/// A run of writers and a reader that share a store in PostgreSQL, with their statements in the order of a list of turns.
///
/// Each writer begins with a log of its own, and may take others over, from a former owner that does not know.
final class InterleavedWriters: Sendable {
    /// What the run consists of. The steps of an actor come in their order, beside those of the others.
    enum Step {
        /// The next events of a log, which go together.
        case part(log: Int, [ChangeSet], drafts: Bool)
        case takeOver(Int, by: Int)
        case cursor(by: Int)
        case role(by: Int)
        case read
        /// A change of the order at a statement, counted from the first one.
        case turn(at: Int, StatementScheduler.Turn)
    }

    private let model: ObjectModel
    private let steps: [Step]
    private let writerCount: Int
    private let threshold: Int
    private let shared: SharedStore
    /// The events of each log, and the ranges that go together.
    private let logs: [[ChangeSet]]
    private let parts: [[Range<Int>]]
    private let state: Mutex<State>

    private struct State {
        /// The writer that is to have each log.
        var owners: [Int]
        var holders: [Int64: Int] = [:]
        var snapshots: [Snapshot] = []
        var problems: [String] = []
        var refusals = 0
    }

    /// What the reader saw at one moment.
    private struct Snapshot: Sendable {
        let order: [SharedStore.Part]
        let lines: [String]
    }

    init(_ model: ObjectModel, _ steps: [Step], writers: Int, threshold: Int, faults: SharingFaults = []) throws {
        (self.model, self.steps, writerCount, self.threshold) = (model, steps, writers, threshold)
        shared = try SharedStore(model) { $0.faults = faults }
        var logs = [[ChangeSet]](repeating: [], count: writers)
        var parts = [[Range<Int>]](repeating: [], count: writers)
        for case .part(let log, let events, _) in steps {
            parts[log].append(logs[log].count..<logs[log].count + events.count)
            logs[log] += events
        }
        (self.logs, self.parts) = (logs, parts)
        state = Mutex(State(owners: Array(0..<writers)))
    }

    struct Figures: Sendable {
        var statements = 0, blocked = 0, cuts = 0, refusals = 0, parts = 0, reads = 0
    }

    /// Carries the run out.
    ///
    /// - Returns: its problem, nil where the store and all that was read are those of one writer; and how large it was.
    func problem() throws -> (problem: String?, figures: Figures) {
        var turns: [Int: [StatementScheduler.Turn]] = [:]
        for case .turn(let place, let turn) in steps { turns[place, default: []].append(turn) }
        let scheduler = try StatementScheduler(shared.server, actors: writerCount + 1, turns: turns)
        let urls = (0...writerCount).map { scheduler.url(of: $0) }
        var bodies: [@Sendable (StatementScheduler.Actor) throws -> Void] = (0..<writerCount).map { writer in
            { actor in try Writer(self, writer, urls[writer], actor).run() }
        }
        bodies.append { _ in try self.read(urls[self.writerCount]) }
        var problem: String?
        do {
            try scheduler.run(bodies)
            problem = try difference()
        } catch {
            problem = "\(error)"
        }
        if scheduler.errors.contains("40P01") { problem = problem ?? "the server has broken up a deadlock" }
        let (refusals, reads) = state.withLock { ($0.refusals, $0.snapshots.count) }
        let figures = Figures(
            statements: scheduler.statementCount, blocked: scheduler.blockedCount, cuts: scheduler.cutCount,
            refusals: refusals, parts: parts.map(\.count).reduce(0, +), reads: reads)
        return (problem.map { "\($0)\n\(scheduler.lastTurns)" }, figures)
    }

    private func open(_ url: String) throws -> Store {
        try Store.postgres(url: url, schema: shared.schema, model: model, options: shared.options)
    }

    // MARK: A writer

    private final class Writer {
        let owner: InterleavedWriters
        let number: Int
        let url: String
        let actor: StatementScheduler.Actor
        private var store: Store
        private var writer: WriterContext
        private var owned: [Int]
        private var attempts = 0

        init(_ run: InterleavedWriters, _ number: Int, _ url: String, _ actor: StatementScheduler.Actor) throws {
            (owner, self.number, self.url, self.actor) = (run, number, url, actor)
            store = try run.open(url)
            var options = WriterContext.Options()
            options.now = { 1_000_000 }
            options.author = "writer"
            options.leaseTTLSeconds = 600
            options.setDeletionThreshold = run.threshold
            writer = try WriterContext(store: store, options: options)
            owned = [number]
        }

        func run() throws {
            actor.mayLoseConnections(true)
            if isOwner(number) { try claim(number) }
            for step in owner.steps {
                switch step {
                case .part(number, _, _): _ = try applyNext()
                case .takeOver(let log, by: number):
                    owner.state.withLock { $0.owners[log] = number }
                    try claim(log)
                    if !owned.contains(log) { owned.append(log) }
                case .cursor(by: number): try again { try saveCursor() }
                case .role(by: number): try again { try holdRole() }
                default: break
                }
            }
            while try applyNext() {}
            actor.mayLoseConnections(false)
            try again { try writer.close() }
            try store.close()
        }

        private func isOwner(_ log: Int) -> Bool { owner.state.withLock { $0.owners[log] == number } }

        /// Calls `body` until the store does not refuse.
        private func again(_ body: () throws -> Void) throws {
            while true {
                do { return try body() } catch let error as StoreError where error.isRetriable { try count(error) }
            }
        }

        private func count(_ error: StoreError) throws {
            attempts += 1
            owner.state.withLock { $0.refusals += 1 }
            if attempts > 200 { throw StatementScheduler.Stuck(description: "writer \(number) never ends: \(error)") }
        }

        private func claim(_ log: Int) throws {
            try again { try writer.claimPartitions([StorePartition(topic: "log", partition: Int32(log))]) }
        }

        /// Applies the next part of a log; false where all are at their ends.
        private func applyNext() throws -> Bool {
            while let log = owned.first {
                guard let part = try nextPart(log) else {
                    owned.removeFirst()
                    continue
                }
                let drafts = owner.drafts(part)
                do {
                    _ = try writer.apply(SharedStore.chunk(part, owner.logs[log]), mayConflict: drafts)
                    try writer.commit()
                    return true
                } catch {
                    guard error.isRetriable else { throw error }
                    try count(error)
                    if !isOwner(log) {
                        owned.removeFirst()
                    } else if error.code == .positionConflict {
                        try claim(log)
                    }
                }
            }
            return false
        }

        /// The part that follows the store's position.
        private func nextPart(_ log: Int) throws -> SharedStore.Part? {
            var place: Int64 = 0
            try again {
                let positions = try store.read { try $0.positions() }
                place = positions.first { $0.partition == Int32(log) }?.nextOffset ?? 0
            }
            return owner.parts[log].first { Int64($0.lowerBound) == place }.map {
                SharedStore.Part(log: log, range: $0)
            }
        }

        private func saveCursor() throws {
            let token = try store.read { try $0.session.lastToken() } ?? 0
            try writer.putCursors(["reader \(number)": token])
            try writer.commit()
        }

        /// Takes a role. Its number tells the holders apart: each is of one writer.
        private func holdRole() throws {
            let epoch = try writer.holdRole("notifications")
            try writer.commit()
            guard let epoch else { return }
            owner.state.withLock { state in
                if let other = state.holders[epoch], other != number {
                    state.problems.append("writers \(other) and \(number) both have the role of number \(epoch)")
                }
                state.holders[epoch] = number
            }
        }
    }

    private func drafts(_ part: SharedStore.Part) -> Bool {
        var start = 0
        for case .part(part.log, let events, let drafts) in steps {
            if start == part.range.lowerBound { return drafts }
            start += events.count
        }
        return true
    }

    // MARK: The reader

    private func read(_ url: String) throws {
        let store = try open(url)
        for case .read in steps {
            let snapshot = try store.read { context in
                Snapshot(order: try Self.order(context), lines: try SharedStore.lines(context))
            }
            state.withLock { $0.snapshots.append(snapshot) }
        }
        try store.close()
    }

    // MARK: The comparison

    /// The parts in the order of their commits: each has left a dead letter.
    private static func order(_ context: ReadContext) throws -> [SharedStore.Part] {
        try context.deadLetters().sorted { $0.id < $1.id }.map { letter in
            SharedStore.Part(log: Int(letter.partition), range: Int(letter.offset)..<(Int(letter.reason) ?? 0))
        }
    }

    private func difference() throws -> String? {
        let store = try shared.open()
        defer { try? store.close() }
        let (order, found, ids) = try store.read { context in
            (try Self.order(context), try SharedStore.lines(context), try context.deadLetters().map(\.id).sorted())
        }
        for log in logs.indices where order.filter({ $0.log == log }).map(\.range) != parts[log] {
            return "the parts of log \(log) are \(order.filter { $0.log == log }.map(\.range)), not \(parts[log])"
        }
        if ids != Array(1...Int64(max(1, ids.count))).prefix(ids.count).map({ $0 }) { return "the letters are \(ids)" }
        let states = try serial(order)
        if let difference = StoreDump.difference(states[order.count], found) { return "the store:\n\(difference)" }
        return state.withLock { state in
            for snapshot in state.snapshots {
                if Array(order.prefix(snapshot.order.count)) != snapshot.order {
                    return "a reader saw the parts \(snapshot.order) of \(order)"
                }
                if let difference = StoreDump.difference(states[snapshot.order.count], snapshot.lines) {
                    return "a reader after \(snapshot.order.count) parts:\n\(difference)"
                }
            }
            return state.problems.first
        }
    }

    /// The store in memory of one writer before each of the parts, and behind the last.
    private func serial(_ order: [SharedStore.Part]) throws -> [[String]] {
        let store = Store.inMemoryTables(model: model)
        let writer = try shared.writer(store, threshold: threshold)
        var states = [try SharedStore.lines(store)]
        for part in order {
            _ = try writer.apply(SharedStore.chunk(part, logs[part.log]))
            try writer.commit()
            states.append(try SharedStore.lines(store))
        }
        return states
    }
}
