import Hummingbird
import IngestCore
import Logging
import NIOCore

/// Carries the connection that a request came on.
struct HTTPConnectionContext: InitializableFromSource, Sendable {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
    }
}

/// The client whose request is answered.
final class AnsweredClient: Sendable {
    private let connections: HTTPConnections
    private let channel: any Channel

    init(_ connections: HTTPConnections, _ channel: any Channel) {
        self.connections = connections
        self.channel = channel
    }

    /// Stands for the address of a client where the system does not tell it.
    static let unknownAddress = "an unknown address"

    /// The address that the client comes from.
    var address: String { channel.remoteAddress?.ipAddress ?? Self.unknownAddress }

    /// Whether the client has closed its connection, or its side of it. A stream asks while it has nothing to write.
    var hasLeft: Bool { connections.hasLeft(channel) }
}

/// Finds the route of a request, and answers for paths and methods that have none.
struct HTTPRouting: HTTPResponder {
    /// Finds the routes of a path that come and go, or returns nil.
    typealias FurtherRoutes = @Sendable (_ path: String) -> [HTTPRoute]?

    private let routes: [String: [HTTPRoute]]
    private let further: FurtherRoutes
    private let token: BearerToken?
    private let operatorToken: BearerToken?
    private let hosts: HTTPHosts?
    private let connections: HTTPConnections
    private let logger: Logger

    /// The client whose request is answered. An object, for optimised programs of Swift 6.3 crash at a task-local
    /// function.
    @TaskLocal static var client: AnsweredClient?

    init(
        routes: [HTTPRoute], further: @escaping FurtherRoutes = { _ in nil }, configuration: HTTPServerConfiguration,
        connections: HTTPConnections, logger: Logger
    ) {
        self.routes = Self.byPath(routes)
        self.further = further
        token = configuration.bearerToken.map { BearerToken($0) }
        operatorToken = configuration.operatorToken.map { BearerToken($0) }
        hosts = configuration.hosts
        self.connections = connections
        self.logger = logger
    }

    func respond(to request: Request, context: HTTPConnectionContext) async throws -> Response {
        let response = await answer(to: request, on: context.channel)
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func answer(to request: Request, on channel: any Channel) async -> Response {
        let client = AnsweredClient(connections, channel)
        let path = Self.normalized(request.uri.path)
        let candidates = routes[path] ?? further(path)
        if let refusal = refusal(request, candidates, client, channel) { return refusal.response }
        guard let candidates else {
            return .problem(.notFound, detail: "There is nothing at this path.", paths: routes.keys.sorted())
        }
        let method = request.method == .head ? .get : request.method
        guard let route = candidates.first(where: { $0.method == method }) else {
            var response = Response.problem(.methodNotAllowed, detail: "This path does not take this method.")
            response.headers[.allow] = Self.allowed(candidates).joined(separator: ", ")
            return response
        }
        if let lasting = route.lasting, !connections.begin(lasting, channel) {
            return HTTPRefusal.tooMany(lasting).response
        }
        return await answer(to: request, by: route, client, channel)
    }

    /// Returns the refusal of a request that its path does not admit, or nil.
    private func refusal(
        _ request: Request, _ candidates: [HTTPRoute]?, _ client: AnsweredClient, _ channel: any Channel
    ) -> HTTPRefusal? {
        if connections.isForProbes(channel), candidates?.first?.isProbe != true { return .onlyProbes }
        let access = candidates?.first?.access ?? .reader
        guard admits(request, access) else {
            candidates?.first?.onRefusal?(client.address)
            return BearerToken.isStated(in: request) ? .wrongToken : .missingToken
        }
        if access == .reader, let hosts = hosts ?? candidates?.first?.hosts, !hosts.admits(request) {
            return .otherHost
        }
        return nil
    }

    private func answer(
        to request: Request, by route: HTTPRoute, _ client: AnsweredClient, _ channel: any Channel
    ) async -> Response {
        do {
            return try await Self.$client.withValue(client) {
                // A request that changes something is carried out, also for a client that has left.
                guard route.method == .get else { return try await route.handler(request) }
                return try await connections.whileClientWaits(channel) { try await route.handler(request) }
            }
        } catch let refusal as HTTPRefusal {
            return refusal.response
        } catch let error as ControlError {
            return HTTPRefusal(error).response
        } catch is CancellationError {
            return .problem(.requestTimeout, detail: "The client has left.")
        } catch let error as HTTPError {
            return .problem(error.status, detail: error.body ?? error.status.reasonPhrase)
        } catch {
            logger.warning("a request failed", metadata: ["path": "\(route.path)", "error": "\(error)"])
            return .problem(.internalServerError, detail: "The answer could not be made; the log says why.")
        }
    }

    /// Whether a request carries the token that the path asks for. All routes of a path have the same access.
    private func admits(_ request: Request, _ access: HTTPRoute.Access) -> Bool {
        let isOperator = operatorToken?.admits(request) ?? false
        return switch access {
        case .everybody: true
        case .reader: token?.admits(request) ?? true || isOperator
        case .operator: isOperator
        }
    }

    private static func allowed(_ routes: [HTTPRoute]) -> [String] {
        routes.flatMap { $0.method == .get ? ["GET", "HEAD"] : [$0.method.rawValue] }
    }

    /// The routes by their paths, as `FurtherRoutes` is asked for them.
    static func byPath(_ routes: [HTTPRoute]) -> [String: [HTTPRoute]] {
        Dictionary(grouping: routes) { normalized($0.path) }
    }

    private static func normalized(_ path: String) -> String {
        path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
