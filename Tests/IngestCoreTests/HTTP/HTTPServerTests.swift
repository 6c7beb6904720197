import Dispatch
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle
import Testing

@testable import IngestCore
@testable import Operations

private struct Failure: Error {}

/// Runs a server on a free port for the time of the closure, and shuts it down gracefully.
func withServer(
    _ change: (inout HTTPServerConfiguration) -> Void = { _ in }, health: HealthMonitor = HealthMonitor(),
    routes: [HTTPRoute] = [], _ body: (Int) async throws -> Void
) async throws {
    var configuration = HTTPServerConfiguration(port: 0)
    change(&configuration)
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let registry = MetricsRegistry()
    registry.add(Counter("x_total", "X.")).increment()
    let server = HTTPServer(
        configuration: configuration,
        routes: HTTPRoute.health(health) + [.metrics(registry), .status { Array("{\"a\":1}".utf8) }] + routes,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        onBound: { continuation.yield($0) })
    let group = ServiceGroup(
        configuration: .init(services: [server], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
            defer { continuation.finish() }
            try await group.run()
        }
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next())
        try await body(port)
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
    }
}

@Suite("HTTPServer", .timeLimit(.minutes(60)))
struct HTTPServerTests {
    private static func readyMonitor() -> HealthMonitor {
        let monitor = HealthMonitor(now: { 0 })
        for event in [HealthEvent.started, .storeOK, .brokerReachable, .groupJoined] { monitor.report(event) }
        return monitor
    }

    @Test
    func `health answers 200 or 503, and with ?verbose a line for each check`() async throws {
        let monitor = Self.readyMonitor()
        try await withServer(health: monitor) { port in
            #expect(port > 0)
            for path in ["/livez", "/ping", "/readyz", "/ready", "/health", "/readyz/"] {
                let answer = try #require(await RawAnswer.get(path, port: port))
                #expect(answer.status == 200)
                #expect(answer.body == "ok\n")
            }
            monitor.report(.storeFailed(reason: "disk\nfull"))
            let brief = try #require(await RawAnswer.get("/readyz", port: port))
            #expect(brief.status == 503)
            #expect(brief.body == "[-]store failed: disk\\nfull\nreadyz check failed\n")
            let verbose = try #require(await RawAnswer.get("/readyz?verbose", port: port))
            #expect(verbose.status == 503)
            #expect(
                verbose.body == "[+]startup ok\n[-]store failed: disk\\nfull\n[+]loop ok\n[+]broker ok\n[+]group ok\n"
                    + "[+]partitions ok\n[+]publisher ok\n[+]outbox ok\n[+]shutdown ok\nreadyz check failed\n")
            #expect(await RawAnswer.get("/livez?verbose=1", port: port)?.body == "[+]loop ok\nlivez check passed\n")
            #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
        }
    }

    @Test
    func `metrics, status and further routes`() async throws {
        let routes = [
            HTTPRoute("/") { _ in .text("<p>", type: "text/html") },
            HTTPRoute("/fails") { _ in throw Failure() },
            HTTPRoute("/bad") { _ in throw HTTPError(.badRequest, message: "say why") },
            HTTPRoute("/posts", method: .post) { _ in .text("posted") },
        ]
        try await withServer(routes: routes) { port in
            let metrics = try #require(await RawAnswer.get("/metrics", port: port))
            #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(metrics.body.hasSuffix("x_total 1\n"))
            let status = try #require(await RawAnswer.get("/status", port: port))
            #expect(status.headers["content-type"] == "application/json")
            #expect(status.body == "{\"a\":1}")
            #expect(await RawAnswer.get("/", port: port)?.body == "<p>")
            #expect(await RawAnswer.get("/posts", port: port, method: "POST")?.body == "posted")
            let bad = try #require(await RawAnswer.get("/bad", port: port))
            #expect(bad.status == 400)
            #expect(bad.body == "{\"title\":\"Bad Request\",\"status\":400,\"detail\":\"say why\"}\n")
            let failed = try #require(await RawAnswer.get("/fails", port: port))
            #expect(failed.status == 500)
            #expect(!failed.body.contains("Failure"))
        }
    }

    @Test
    func `a reader's path that a page asks for by a foreign name is refused, a probe is answered`() async throws {
        let own = HTTPServerConfiguration(HTTPConfiguration())
        let changes = HTTPRoute(ChangeFeed.path) { _ in .text("secret") }
        try await withServer({ $0.hosts = own.hosts }, routes: [changes]) { port in
            for path in [ChangeFeed.path, "/status", "/metrics", "/nothing"] {
                let refused = try #require(await RawAnswer.get(path, port: port, host: "attacker.example:8080"))
                #expect(refused.status == 421 && refused.body.contains("\"code\":\"http.host\""), "\(refused.body)")
            }
            for host in ["localhost", "127.0.0.1:8080", "[::1]:8080"] {
                #expect(await RawAnswer.get(ChangeFeed.path, port: port, host: host)?.status == 200)
            }
            #expect(await RawAnswer.get("/livez", port: port, host: "attacker.example")?.status == 200)
        }
    }

    @Test
    func `with a token, or at an address of the network, a reader asks by any name`() {
        var http = HTTPConfiguration()
        #expect(HTTPServerConfiguration(http).hosts == HTTPHosts(http))
        http.bearerToken = "0123456789abcdef"
        #expect(HTTPServerConfiguration(http).hosts == nil)
        (http.bearerToken, http.host, http.allowUnauthenticated) = (nil, "0.0.0.0", true)
        #expect(HTTPServerConfiguration(http).hosts == nil)
    }

    @Test
    func `operators and the console have places beside the readers, and leave some to probes`() {
        var http = HTTPConfiguration()
        for (connections, readers, requests, reads) in [(64, 48, 8, 4), (10, 4, 3, 1), (8, 5, 1, 1), (100, 1, 8, 8)] {
            (http.maxConnections, http.maxFeedReaders) = (connections, readers)
            let server = HTTPServerConfiguration(http)
            #expect(server.maximumOperatorRequests == requests && server.maximumReads == reads)
            #expect(readers + requests + reads < connections)
        }
    }

    @Test
    func `HEAD has the headers of GET and no body`() async throws {
        try await withServer { port in
            let answer = try #require(await RawAnswer.get("/status", port: port, method: "HEAD"))
            #expect(answer.status == 200)
            #expect(answer.headers["content-length"] == "7")
            #expect(answer.body.isEmpty)
        }
    }

    @Test
    func `an unknown path names the known ones, an unknown method the allowed ones`() async throws {
        try await withServer { port in
            let missing = try #require(await RawAnswer.get("/nothing%0a", port: port))
            #expect(missing.status == 404)
            #expect(missing.headers["content-type"] == "application/problem+json")
            #expect(
                missing.body == "{\"title\":\"Not Found\",\"status\":404,\"detail\":\"There is nothing at this path.\","
                    + "\"paths\":[\"/health\",\"/livez\",\"/metrics\",\"/ping\",\"/ready\",\"/readyz\",\"/status\"]}\n")
            let refused = try #require(await RawAnswer.get("/livez", port: port, method: "DELETE"))
            #expect(refused.status == 405)
            #expect(refused.headers["allow"] == "GET, HEAD")
        }
    }

    @Test
    func `a port in use is reported with code and remedy`() async throws {
        try await withServer { port in
            let second = HTTPServer(
                configuration: HTTPServerConfiguration(port: port), routes: [],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let error = await #expect(throws: HTTPServerError.self) { try await second.run() }
            #expect(error?.code == .portInUse)
            #expect(error?.code.rawValue == "http.port_in_use")
            #expect(error?.isRetriable == true)
            #expect(error?.description.contains("127.0.0.1:\(port)") == true)
            #expect(error?.description.contains("--set http.port=") == true)
        }
    }

    @Test
    func `an address of another machine is reported as such`() async throws {
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(host: "192.0.2.1", port: 0), routes: [],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let error = await #expect(throws: HTTPServerError.self) { try await server.run() }
        #expect(error?.code == .badAddress)
    }

    /// Ends the sockets of this process that listen on a port.
    private static func shutDownListener(on port: Int) {
        for descriptor: Int32 in 3..<4096 {
            var (isListening, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
            guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening != 0
            else { continue }
            var (address, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
            let found = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            if found == 0, UInt16(bigEndian: address.sin_port) == UInt16(port) {
                shutdown(descriptor, Int32(SHUT_RDWR))
            }
        }
    }

    @Test
    func `a server that takes no connection any more ends with an error`() async throws {
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(port: 0), routes: [],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onBound: { Self.shutDownListener(on: $0) })
        let error = await #expect(throws: HTTPServerError.self) { try await server.run() }
        #expect(error?.code == .stopped && error?.isRetriable == true)
        #expect(error?.message.contains("has stopped to take connections") == true)
    }

    private static func stand(at gate: DispatchSemaphore) { gate.wait() }

    @Test(arguments: [true, false])
    func `a server ends though connections come until its end`(isCancelled: Bool) async throws {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(port: 0), routes: [], logger: logger,
            onBound: { continuation.yield($0) })
        let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
        let task = Task { try await group.run() }
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next())
        // The blocked tasks keep the server's task from running. So the event loop accepts connections that wait for it.
        let gate = DispatchSemaphore(value: 0)
        let standing = (0..<2 * ProcessInfo.processInfo.activeProcessorCount).map { _ in
            Task.detached { Self.stand(at: gate) }
        }
        let connections = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let connections = (0..<64).compactMap { _ in RawConnection(port: port) }
                usleep(50_000)
                if isCancelled { task.cancel() }
                for _ in standing { gate.signal() }
                continuation.resume(returning: connections)
            }
        }
        for each in standing { await each.value }
        #expect(connections.count == 64)
        if !isCancelled { await group.triggerGracefulShutdown() }
        try await task.value
        for connection in connections { #expect(await connection.readToEnd() == "") }
        #expect(RawConnection(port: port) == nil)
    }
}
