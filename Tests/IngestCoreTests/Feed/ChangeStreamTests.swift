import Foundation
import ObjectGraph
import Testing

@testable import IngestCore

@Suite("ChangeFeed as a stream", .timeLimit(.minutes(60)))
struct ChangeStreamTests {
    private static func open(
        _ port: Int, _ path: String = "/changes", headers: [String: String] = [:]
    ) throws -> RawConnection {
        let connection = try #require(RawConnection(port: port))
        let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        connection.send("GET \(path) HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\(lines)\r\n")
        return connection
    }

    @Test
    func `a stream tells what is there and then what comes, each with its token as id`() async throws {
        let fixture = try FeedFixture()
        try fixture.add(2)
        let identity = fixture.identity
        try await fixture.serve { port in
            let connection = try Self.open(port)
            let head = try #require(await connection.read(until: "id: \(identity):0\n\n"))
            #expect(head.contains("text/event-stream"))
            #expect(head.contains("retry: 2000\n"))
            for token in 1...2 { #expect(await connection.read(until: "id: \(identity):\(token)\n") != nil) }
            #expect(await connection.read(until: "\n\n") != nil)
            try fixture.add(1)
            let event = try #require(await connection.read(until: "}\n\n"))
            #expect(event.contains("id: \(identity):3\ndata: {\"specversion\":\"1.0\",\"id\":\"3\""))
            #expect(fixture.feed.readers == 1)
        }
        // Here the server has ended, though a stream was open.
        #expect(fixture.feed.readers == 0)
    }

    @Test
    func `Last-Event-ID goes before the address`() async throws {
        let fixture = try FeedFixture()
        try fixture.add(3)
        let identity = fixture.identity
        try await fixture.serve { port in
            let connection = try Self.open(
                port, "/changes?after=0", headers: ["Last-Event-ID": "\(identity):2"])
            let text = try #require(await connection.read(until: "}\n\n"))
            #expect(text.contains("id: \(identity):2\n\n"))
            #expect(text.contains("id: \(identity):3\ndata: "))
            #expect(!text.contains("\"token\":2"))
        }
    }

    @Test
    func `a silent stream gets comments, with the token that is passed meanwhile`() async throws {
        let fixture = try FeedFixture(heartbeatSeconds: 0.05)
        try fixture.add(2)
        let identity = fixture.identity
        try await fixture.serve { port in
            let connection = try Self.open(port, "/changes?after=0&entity=Member")
            #expect(await connection.read(until: ": heartbeat\nid: \(identity):2\n\n") != nil)
            #expect(await connection.read(until: ": heartbeat\n") != nil)
        }
    }

    @Test
    func `a silent stream ends with its client`() async throws {
        let fixture = try FeedFixture(heartbeatSeconds: 3600)
        try await fixture.serve { port in
            do {
                let connection = try Self.open(port)
                #expect(await connection.read(until: "\n\n") != nil)
                #expect(fixture.feed.readers == 1)
            }
            try await fixture.waitForReaders(0)
        }
    }

    @Test
    func `a large transaction has an id with its last part only, so that a break repeats it whole`() async throws {
        let fixture = try FeedFixture(chunk: 20_000)
        try await fixture.addMany(11_000)
        let identity = fixture.identity
        try await fixture.serve { port in
            let connection = try Self.open(port)
            let text = try #require(await connection.read(until: "id: \(identity):1\n"))
            #expect(text.ranges(of: "data: {").count >= 2)
            #expect(text.ranges(of: "id: \(identity)").count == 2, "the beginning, and the end of the transaction")
            #expect(text.contains("\"part\":1,\"last\":false"))
        }
    }

    /// Objects whose events do not fit into a socket's buffers.
    private func large() async throws -> FeedFixture {
        let fixture = try FeedFixture(granularity: .object, values: true)
        try await fixture.addMany(2400, body: String(repeating: "x", count: 9_000))
        return fixture
    }

    @Test
    func `a reader that does not read is not read for, and is dropped`() async throws {
        let fixture = try await large()
        try await fixture.serve({ $0.writeTimeoutSeconds = 1 }) { port in
            let connection = try #require(RawConnection(port: port))
            connection.shrinkReceiveBuffer()
            connection.send("GET /changes HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
            try await fixture.waitForReaders(1)
            try await fixture.waitForReaders(0)
            #expect(fixture.metrics.feedEvents.value < 2400)
            withExtendedLifetime(connection) {}
        }
    }

    @Test
    func `a stream that the purge has overtaken ends with 'expired'`() async throws {
        let fixture = try await large()
        let identity = fixture.identity
        try await fixture.serve({ $0.writeTimeoutSeconds = 100 }) { port in
            let connection = try #require(RawConnection(port: port))
            connection.send(
                "GET /changes HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: text/event-stream\r\n\r\n")
            #expect(await connection.read(until: "retry: 2000\n") != nil)
            while true {
                let result = try fixture.writer.purgeHistory(HistoryPurge(before: .token(.max)))
                if result.isFinished { break }
            }
            let text = try #require(await connection.readToEnd())
            let end = try #require(text.ranges(of: "event: expired\ndata: ").last)
            let body = text[end.upperBound...]
            #expect(body.contains("\"code\":\"history.expired\""))
            #expect(body.contains("\"token\":\"\(identity):2400\""))
            #expect(body.contains("\n\n"))
        }
    }
}
