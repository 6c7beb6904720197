import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// Prints what several writers of one store achieve; `Benchmarks/writers` runs it. It asserts no time.
///
/// Each chunk waits as for work of the worker's own, `WAIT_MILLISECONDS`: before it is read, or with `WAIT_AFTER_READING`
/// between its reads and its commit.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["INGEST_FIGURES"] != nil))
struct SharedStoreFigures {
    private static func number(_ name: String, _ value: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? value
    }

    private let wait = number("WAIT_MILLISECONDS", 400)
    private let chunkLength = number("CHUNK", 500)
    private let chunkCount = number("CHUNKS", 12)
    private let writerCount = number("WRITERS", 8)

    private let waitsAfterReading = ProcessInfo.processInfo.environment["WAIT_AFTER_READING"] != nil

    private struct Figure {
        var eventsPerSecond = 0.0
        var retries = 0
        var deadlocks = 0
    }

    @Test(arguments: ["own chats", "shared chats", "new shared chats"])
    func `several writers against one`(_ kind: String) throws {
        let one = try measure(writers: 1, kind)
        let many = try measure(writers: writerCount, kind)
        let chunks = writerCount * chunkCount
        let ratio = (many.eventsPerSecond / one.eventsPerSecond * 100).rounded() / 100
        let share = (Double(many.retries) / Double(chunks) * 1000).rounded() / 10
        print(
            """
            \(kind): \(writerCount) writers \(ratio) times one (\(Int(one.eventsPerSecond)) and \
            \(Int(many.eventsPerSecond)) events/s), chunks of \(chunkLength) with \(wait) ms outside, \
            retried \(many.retries) of \(chunks) chunks (\(share) %), deadlocks \(many.deadlocks)
            """)
        #expect(many.deadlocks == 0)
    }

    private func measure(writers count: Int, _ kind: String) throws -> Figure {
        let sharesChats = kind != "own chats"
        let model = try configuredModel("chat")
        let shared = try SharedStore(model)
        let chats = 200
        let store = try shared.open()
        let first = try shared.writer(store)
        // New chats are made by the writers, as placeholders.
        for log in 0..<count where kind != "new shared chats" {
            let names = (0..<chats).map { name($0, log, sharesChats) }
            _ = try first.apply(WriterContext.Chunk(events: names.map { ChangeSet(model.upsert("Chat", $0, [])) }))
            try first.commit()
        }
        try first.close()
        var figure = Figure()
        figure.deadlocks = -(try shared.deadlockCount())
        let start = ContinuousClock.now
        let retries = try SharedStore.atOnce(count) { try write($0, shared, chats, kind) }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        figure.eventsPerSecond = Double(count * chunkCount * chunkLength) / seconds
        figure.retries = retries.reduce(0, +)
        figure.deadlocks += try shared.deadlockCount()
        #expect(
            try store.read { try $0.count(FetchRequest("Message").checked(with: model)) } == count * chunkCount
                * chunkLength)
        return figure
    }

    private func name(_ number: Int, _ log: Int, _ sharesChats: Bool) -> Value {
        .text(sharesChats ? "c\(number)" : "c\(log)-\(number)")
    }

    private func write(_ log: Int, _ shared: SharedStore, _ chats: Int, _ kind: String) throws -> Int {
        let writer = try shared.writer(shared.open())
        var retries = 0
        for number in 0..<chunkCount {
            let events = (0..<chunkLength).map { index in
                let message = number * chunkLength + index
                // Each writer's chunk of a number names the same new chats, so all meet at each of them.
                let isNew = kind == "new shared chats"
                let place = isNew ? number * chats / 8 + index % (chats / 8) : (message * 7919) % chats
                let chat = name(place, log, kind != "own chats")
                return ChangeSet(
                    shared.model.upsert(
                        "Message", .text("m\(log)-\(message)"), [("chat", .value(chat)), ("body", .value("text"))]))
            }
            if !waitsAfterReading { Thread.sleep(forTimeInterval: Double(wait) / 1000) }
            while true {
                do {
                    _ = try writer.apply(WriterContext.Chunk(events: events), mayConflict: true)
                    if waitsAfterReading { Thread.sleep(forTimeInterval: Double(wait) / 1000) }
                    try writer.commit()
                    break
                } catch {
                    guard error.isRetriable else { throw error }
                    retries += 1
                }
            }
        }
        try writer.close()
        return retries
    }
}
