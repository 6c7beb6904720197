import Hummingbird
import HummingbirdCore
import IngestCore
import Logging
import NIOCore
import ServiceLifecycle

/// Bounds the HTTP server.
package struct HTTPServerConfiguration: Sendable, Equatable {
    /// The address or host name to listen on.
    package var host: String
    /// The port to listen on; 0 takes any free one.
    package var port: Int
    /// The open connections at most.
    package var maximumConnections = 64
    /// The answers at most that may take long, as streams do; fewer than connections, so that probes find one.
    package var maximumLongLivedAnswers = 48
    /// The operators' requests at most, beside those answers.
    package var maximumOperatorRequests = 8
    /// The reads of the store for the console at most, beside both.
    package var maximumReads = 4
    /// The connections at most beyond the others, which answer probes alone.
    package var probeConnections = 2
    /// The requests at most that a client sends before it has the answer to the first.
    package var maximumUnansweredRequests = 16
    /// The size of all header fields of a request at most, in bytes.
    package var maximumHeaderBytes = 16_384
    /// The time for a whole request to arrive, in seconds.
    package var requestTimeoutSeconds = 5.0
    /// The time that a connection may wait for its next request, in seconds.
    package var idleTimeoutSeconds = 15.0
    /// The time for a client to take what was written, in seconds.
    package var writeTimeoutSeconds = 10.0
    /// The time for open answers to finish at the end, in seconds.
    package var shutdownTimeoutSeconds = 5.0

    /// The token that all paths but the probes ask for, or nil where none is asked for.
    package var bearerToken: String?
    /// The token that administrative requests ask for, or nil where there are none.
    package var operatorToken: String?
    /// The names by which readers may ask, or nil for any.
    var hosts: HTTPHosts?

    /// Creates the bounds for an address; loopback by default.
    package init(host: String = "127.0.0.1", port: Int = 8080) {
        self.host = host
        self.port = port
    }

    /// Creates the bounds for the configured address.
    package init(_ http: HTTPConfiguration) {
        self.init(host: http.host, port: http.port)
        maximumConnections = http.maxConnections
        maximumLongLivedAnswers = http.maxFeedReaders
        // Half of the rest at most for each: probes find a connection.
        let rest = http.maxConnections - http.maxFeedReaders
        maximumOperatorRequests = max(1, min(8, rest / 2))
        maximumReads = max(1, min(8, (rest - maximumOperatorRequests) / 2))
        bearerToken = http.bearerToken
        operatorToken = http.operatorToken
        if http.bearerToken == nil, http.isLoopback { hosts = HTTPHosts(http) }
    }
}

/// Serves health, metrics, status and further routes over HTTP/1.1.
///
/// Run it as a service of a `ServiceGroup`. A graceful shutdown closes idle connections at once, and the others when
/// they are answered, or after a time.
package struct HTTPServer: Service {
    private let configuration: HTTPServerConfiguration
    private let routes: [HTTPRoute]
    private let further: HTTPRouting.FurtherRoutes
    private let logger: Logger
    private let onBound: @Sendable (Int) async -> Void

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - configuration: Where it listens, and its bounds.
    ///   - routes: What it answers, such as ``HTTPRoute/health(_:bearerToken:operatorToken:)`` and ``HTTPRoute/metrics(_:)``.
    ///   - further: Finds the routes of a path that no other has, where some come and go.
    ///   - logger: Gets failed requests.
    ///   - onBound: Takes the port once the server listens.
    package init(
        configuration: HTTPServerConfiguration, routes: [HTTPRoute],
        further: @escaping @Sendable (String) -> [HTTPRoute]? = { _ in nil }, logger: Logger,
        onBound: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.routes = routes
        self.further = further
        self.logger = logger
        self.onBound = onBound
    }

    /// Listens and answers until the task is cancelled or a graceful shutdown is over.
    ///
    /// - Throws: ``HTTPServerError`` when it cannot listen, or stops to listen before its end.
    package func run() async throws {
        let connections = HTTPConnections(configuration)
        let server = server(connections)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await server.run { connections.closeAll() } }
                group.addTask { try await closeWhenShutDown(connections) }
                // The server ends first, or fails: the task that waits for the end is then of no use.
                while try await group.next() != nil { group.cancelAll() }
            }
        } catch {
            throw HTTPServerError(
                error, host: configuration.host, port: configuration.port, wasListening: connections.isListening)
        }
    }

    /// The connections that wait to be accepted. One too many asks again after a second, which a probe may not have.
    private static let backlog = 1024

    private func server(_ connections: HTTPConnections) -> GracefulServer<HTTPRouting> {
        // The server's notes repeat what onBound says, and call each cut connection an error. Its end is thrown.
        var quiet = logger
        quiet.logLevel = .critical
        return GracefulServer(
            responder: HTTPRouting(
                routes: routes, further: further, configuration: configuration, connections: connections, logger: logger
            ),
            server: .http1(configuration: channelConfiguration(connections)),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port), backlog: Self.backlog),
            logger: quiet
        ) { [onBound] port in
            connections.noteListening()
            await onBound(port)
        }
    }

    private func channelConfiguration(_ connections: HTTPConnections) -> HTTP1Channel.Configuration {
        let timeouts = HTTPTimeouts(
            request: Self.time(configuration.requestTimeoutSeconds), idle: Self.time(configuration.idleTimeoutSeconds),
            write: Self.time(configuration.writeTimeoutSeconds))
        return HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                HTTPConnectionGuard(
                    connections: connections, timeouts: timeouts,
                    maximumUnanswered: configuration.maximumUnansweredRequests)
            ],
            idleTimeout: nil,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: configuration.maximumHeaderBytes,
                maxHeaderListSize: configuration.maximumHeaderBytes,
                maxHeaderFieldCount: 100))
    }

    /// Waits for the graceful shutdown, gives open answers their time, and then closes what is left.
    private func closeWhenShutDown(_ connections: HTTPConnections) async throws {
        do {
            try await gracefulShutdown()
            try await Task.sleep(for: .seconds(configuration.shutdownTimeoutSeconds))
        } catch {
            return
        }
        connections.closeAll()
    }

    private static func time(_ seconds: Double) -> TimeAmount {
        .milliseconds(Int64(seconds * 1_000))
    }
}
