import Hummingbird
import Testing

@testable import IngestCore
@testable import Operations

@Suite("HTTPServer limits", .timeLimit(.minutes(60)))
struct HTTPServerLimitTests {
    @Test
    func `a client that sends its header one byte at a time is dropped`() async throws {
        try await withServer({ $0.requestTimeoutSeconds = 0.5 }) { port in
            let connection = try #require(RawConnection(port: port))
            let slow = Task {
                for character in "GET /livez HTTP/1.1\r\nX: " + String(repeating: "x", count: 500) {
                    guard connection.send(String(character)) else { return }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            #expect(await connection.readToEnd() == "")
            slow.cancel()
        }
    }

    @Test
    func `a client that sends its body one byte at a time is dropped, though its answer was sent`() async throws {
        try await withServer({ $0.requestTimeoutSeconds = 8 }) { port in
            let connection = try #require(RawConnection(port: port))
            connection.send("GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
            let slow = Task {
                while connection.send("x") { try await Task.sleep(for: .milliseconds(50)) }
            }
            // The answer is read at once: what is unread when the server drops the connection may be lost with it.
            #expect(await connection.read(until: "ok\n") != nil)
            #expect(await connection.readToEnd() != nil, "the connection was not dropped")
            slow.cancel()
        }
    }

    @Test
    func `a client whose body ends after its answer waits for its next request as others do`() async throws {
        try await withServer({ ($0.requestTimeoutSeconds, $0.idleTimeoutSeconds) = (60, 1) }) { port in
            let connection = try #require(RawConnection(port: port))
            connection.send("GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n")
            #expect(await connection.read(until: "ok\n") != nil)
            connection.send("x")
            #expect(await connection.readToEnd() == "", "the connection was kept")
        }
    }

    @Test
    func `a connection is kept for further requests, and closed when none comes`() async throws {
        try await withServer({ $0.idleTimeoutSeconds = 2 }) { port in
            let connection = try #require(RawConnection(port: port))
            for _ in 0..<3 {
                connection.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(await connection.read(until: "ok\n") != nil)
            }
            #expect(await connection.readToEnd() == "")
        }
    }

    @Test
    func `pipelined requests are answered in order`() async throws {
        try await withServer { port in
            let connection = try #require(RawConnection(port: port))
            connection.send(
                "GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
                    + "GET /status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let text = try #require(await connection.readToEnd())
            #expect(text.split(separator: "HTTP/1.1 ").map { $0.prefix(3) } == ["200", "404", "200"])
        }
    }

    @Test
    func `a client that asks too often before it has an answer is dropped`() async throws {
        try await withServer { port in
            let connection = try #require(RawConnection(port: port))
            connection.send(String(repeating: "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", count: 500))
            let text = try #require(await connection.readToEnd())
            #expect(text.split(separator: "HTTP/1.1 200").count < 500)
            #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
        }
    }

    @Test
    func `probes keep two places of their own`() async throws {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let route = HTTPRoute("/slow") { _ in
            beginning.yield()
            for await _ in gate { break }
            return .text("done")
        }
        try await withServer({ $0.maximumConnections = 1 }, routes: [route]) { port in
            let busy = try #require(RawConnection(port: port))
            busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            for await _ in begun { break }
            let silent = try (0..<2).map { _ in try #require(RawConnection(port: port)) }
            for _ in 0..<5 { #expect(await RawAnswer.get("/livez", port: port)?.status == 200) }
            #expect(await RawAnswer.get("/nothing", port: port)?.status == 503)
            continuation.finish()
            #expect(await busy.read(until: "done") != nil)
            withExtendedLifetime(silent) {}
        }
    }

    @Test
    func `a client that does not read its answer is dropped`() async throws {
        let chunk = ByteBuffer(repeating: 0x61, count: 65_536)
        let (ended, continuation) = AsyncStream.makeStream(of: Bool.self)
        let route = HTTPRoute("/stream", lasting: .stream) { _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    defer { continuation.yield(true) }
                    for _ in 0..<100_000 { try await writer.write(chunk) }
                    try await writer.finish(nil)
                })
        }
        try await withServer({ $0.writeTimeoutSeconds = 0.5 }, routes: [route]) { port in
            let connection = try #require(RawConnection(port: port))
            connection.shrinkReceiveBuffer()
            connection.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
            var iterator = ended.makeAsyncIterator()
            #expect(await iterator.next() == true)
            #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
            withExtendedLifetime(connection) {}
        }
    }

    @Test
    func `200 silent connections do not keep the probe from its answer`() async throws {
        try await withServer({ $0.requestTimeoutSeconds = 60 }) { port in
            var silent: [RawConnection] = []
            for _ in 0..<200 {
                let connection = try #require(RawConnection(port: port))
                connection.send("GET /livez HTTP/1.1\r\nX-Slow:")
                silent.append(connection)
            }
            // The server's threads take them in any order: which of them gave way to others is known only in number.
            while silent.count(where: \.isClosed) < 200 - 64 { try await Task.sleep(for: .milliseconds(5)) }
            let last = try #require(RawConnection(port: port))
            last.send("GET /livez HTTP/1.1\r\nX-Slow:")
            for _ in 0..<20 { #expect(await RawAnswer.get("/livez", port: port)?.status == 200) }
            // It came after them, and is still waited for.
            #expect(last.send("x\r\n\r\n"))
            #expect(await last.read(until: "ok\n") != nil)
        }
    }

    @Test
    func `a new connection replaces the one that has waited longest for a request`() async throws {
        try await withServer({ ($0.maximumConnections, $0.idleTimeoutSeconds) = (2, 60) }) { port in
            let used = try #require(RawConnection(port: port))
            let idle = try #require(RawConnection(port: port))
            for connection in [used, idle, used, used, used] {
                connection.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(await connection.read(until: "ok\n") != nil)
            }
            #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
            #expect(await idle.readToEnd() == "")
            used.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await used.read(until: "ok\n") != nil)
        }
    }

    @Test
    func `streams are bounded, so that probes find a connection`() async throws {
        let route = HTTPRoute("/stream", lasting: .stream) { _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "begun"))
                    try await Task.sleep(for: .seconds(60))
                })
        }
        let limits: (inout HTTPServerConfiguration) -> Void = {
            $0.maximumConnections = 6
            $0.maximumLongLivedAnswers = 4
            $0.shutdownTimeoutSeconds = 0.2
        }
        try await withServer(limits, routes: [route]) { port in
            var streams: [RawConnection] = []
            for _ in 0..<4 {
                let connection = try #require(RawConnection(port: port))
                connection.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(await connection.read(until: "begun") != nil)
                streams.append(connection)
            }
            let fifth = try #require(await RawAnswer.get("/stream", port: port))
            #expect(fifth.status == 503)
            #expect(fifth.headers["retry-after"] == "5")
            for _ in 0..<10 { #expect(await RawAnswer.get("/livez", port: port)?.status == 200) }
            withExtendedLifetime(streams) {}
        }
        // Here the server has ended, though four streams were open.
    }

    @Test(arguments: [20_000, 200_000])
    func `headers beyond the bound are refused`(size: Int) async throws {
        try await withServer { port in
            let connection = try #require(RawConnection(port: port))
            connection.send("GET /livez HTTP/1.1\r\nHost: x\r\nX: " + String(repeating: "x", count: size) + "\r\n\r\n")
            let answer = RawAnswer(await connection.readToEnd())
            #expect(answer == nil || (400..<500).contains(answer?.status ?? 0))
            #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
        }
    }

    @Test(arguments: ["\u{16}\u{3}\u{1}\u{0}\r\n\r\n", "nonsense\r\n\r\n", "GET\r\n\r\n"])
    func `a text that is not HTTP is refused`(text: String) async throws {
        try await withServer { port in
            let connection = try #require(RawConnection(port: port))
            connection.send(text)
            let answer = await connection.readToEnd()
            #expect(answer != nil)
            #expect(RawAnswer(answer)?.status ?? 400 == 400)
            #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
        }
    }
}
