import Foundation
import ObjectGraph
import Synchronization
import Testing

@testable import IngestCore
@testable import Operations

/// The feed of several stores: each store's changes in their order, and a position in each.
@Suite(.timeLimit(.minutes(60))) struct MergedFeedTests {
    /// Stores of partitions, which may come and go.
    private final class Stores: Sendable {
        let fixtures: [Int32: FeedFixture]
        private let open: Mutex<Set<Int32>>

        init(_ partitions: Int32...) throws {
            var fixtures: [Int32: FeedFixture] = [:]
            for partition in partitions { fixtures[partition] = try FeedFixture() }
            self.fixtures = fixtures
            open = Mutex(Set(partitions))
        }

        func setOpen(_ partitions: Set<Int32>) { open.withLock { $0 = partitions } }

        func add(_ count: Int, to partition: Int32) throws { try fixtures[partition]?.add(count) }

        func identity(_ partition: Int32) -> String { fixtures[partition]?.identity ?? "" }

        func serve(_ body: (Int, ChangeFeed) async throws -> Void) async throws {
            let feed = ChangeFeed(
                stores: { [self] in
                    let open = open.withLock { $0.sorted() }
                    return open.flatMap { fixtures[$0]?.feed.stores(ofPartition: $0) ?? [] }
                }, outages: OutageLog(logger: .silent))
            try await withServer(routes: [feed.route]) { try await body($0, feed) }
        }

        func expected(_ partition: Int32, after token: Int64 = 0) throws -> [String] {
            try fixtures[partition]?.expected(after: token, limit: 1000) ?? []
        }
    }

    /// The events of each store, in the order in which they came.
    private static func bySource(_ events: [FeedAnswer.Event]) -> [String: [String]] {
        Dictionary(grouping: events) { $0.object["source"] as? String ?? "" }.mapValues { $0.map(\.json) }
    }

    @Test func `pages give every change of each store once and in order, from any position`() async throws {
        let stores = try Stores(0, 1, 7)
        for (partition, count) in [(Int32(0), 23), (1, 5), (7, 40)] { try stores.add(count, to: partition) }
        try await stores.serve { port, _ in
            var path = "/changes?limit=4&wait=0"
            var events: [FeedAnswer.Event] = []
            while true {
                let answer = try await FeedAnswer(port, path)
                #expect(answer.status == 200, "\(answer.body)")
                if answer.events.isEmpty { break }
                events += answer.events
                path = try #require(answer.next)
            }
            let found = Self.bySource(events)
            for partition in stores.fixtures.keys {
                let expected = try stores.expected(partition)
                #expect(found["/ingest-worker/\(stores.identity(partition))"] == expected)
            }
            // Every store had its turn on the first page.
            #expect(Set(events.prefix(3).compactMap { $0.object["source"] as? String }).count == 3)
        }
    }

    @Test func `the position of a store that another process has stays as it is`() async throws {
        let stores = try Stores(0, 1)
        try stores.add(2, to: 0)
        try stores.add(3, to: 1)
        try await stores.serve { port, _ in
            stores.setOpen([1])
            let answer = try await FeedAnswer(port, "/changes?after=0=17,1=1&wait=0")
            #expect(answer.events.count == 2)
            #expect(answer.headers["ingest-token"] == "0=17,1=\(stores.identity(1)):3")
            stores.setOpen([])
            let none = try await FeedAnswer(port, "/changes?wait=0")
            #expect(none.status == 503 && none.problem?["detail"] as? String == "No store is open now.")
        }
    }

    @Test func `a poll waits for a change of whichever store`() async throws {
        let stores = try Stores(0, 1)
        try await stores.serve { port, feed in
            async let answer = FeedAnswer(port, "/changes?after=latest&wait=60")
            while feed.readers == 0 { try await Task.sleep(for: .milliseconds(5)) }
            try stores.add(1, to: 1)
            let events = try await answer.events
            #expect(try events.map(\.json) == stores.expected(1))
        }
    }

    @Test func `a token of one store, or an expired one, is refused with the way back`() async throws {
        let stores = try Stores(0, 1)
        try stores.add(4, to: 1)
        try await stores.serve { port, _ in
            let plain = try await FeedAnswer(port, "/changes?after=2&wait=0")
            #expect(plain.status == 400 && plain.problem?["code"] as? String == "feed.bad_parameter")
            let ahead = try await FeedAnswer(port, "/changes?after=0=0,1=9&wait=0")
            #expect(ahead.status == 410 && ahead.problem?["code"] as? String == "history.token_ahead")
            #expect((ahead.problem?["detail"] as? String)?.hasPrefix("Store 1: ") == true)
            let latest = "0=\(stores.identity(0)):0,1=\(stores.identity(1)):4"
            #expect(ahead.problem?["token"] as? String == latest)
            let next = try await FeedAnswer(port, "/changes?after=\(latest)&wait=0")
            #expect(next.status == 200 && next.events.isEmpty && next.headers["ingest-token"] == latest)
            let single = try await FeedAnswer(port, "/changes?after=0=0,x&wait=0")
            #expect(single.status == 400)
        }
    }

    @Test func `a stream goes on in each store, and ends when a store comes`() async throws {
        let stores = try Stores(0, 1)
        try stores.add(2, to: 0)
        try stores.add(1, to: 1)
        stores.setOpen([0])
        try await stores.serve { port, _ in
            let connection = try #require(RawConnection(port: port))
            connection.send("GET /changes HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
            #expect(await connection.read(until: "id: 0=\(stores.identity(0)):2\ndata: {") != nil)
            stores.setOpen([0, 1])
            _ = try #require(await connection.read(until: "0\r\n\r\n"))
            let again = try #require(RawConnection(port: port))
            again.send(
                "GET /changes HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
                    + "Last-Event-ID: 0=\(stores.identity(0)):2\r\n\r\n")
            let ids = "id: 0=\(stores.identity(0)):2,1=\(stores.identity(1)):1\ndata: {"
            #expect(await again.read(until: ids) != nil)
        }
    }
}
