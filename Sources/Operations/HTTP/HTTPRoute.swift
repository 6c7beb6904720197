import GraphCore
import Hummingbird
import IngestCore

/// Answers requests to one path.
///
/// For example:
/// ```swift
/// HTTPRoute("/version") { _ in .text("1.0\n") }
/// HTTPRoute("/changes", lasting: .stream) { request in … }
/// ```
package struct HTTPRoute: Sendable {
    /// Answers a request; what it throws becomes a 500 without details.
    package typealias Handler = @Sendable (Request) async throws -> Response

    /// The clients that may ask for a path.
    package enum Access: Sendable {
        /// Everybody, as for probes and the console's own files.
        case everybody
        /// Holders of the reader's token, where there is one, and of the operator's.
        case reader
        /// Holders of the operator's token only.
        case `operator`
    }

    /// Answers that may take long. The number of each kind is bounded, so that probes find a free connection.
    package enum Lasting: Sendable {
        /// A stream or a long poll of a reader.
        case stream
        /// A read of the store for the console.
        case read
        /// A request of an operator.
        case administration
    }

    /// The path, without a slash at the end.
    package let path: String
    /// The method; a route for GET answers HEAD too.
    package let method: HTTPRequest.Method
    /// The bound that an answer counts for, if it may take long.
    package let lasting: Lasting?
    /// The clients that may ask for this path.
    package let access: Access
    /// Answers the request.
    package let handler: Handler
    /// Called with the client's address where a request lacks the token.
    var onRefusal: (@Sendable (String) -> Void)?
    /// Whether a probe asks for the path, for which connections of its own are kept free.
    var isProbe = false
    /// The names by which readers may ask for this path; nil for the server's names.
    var hosts: HTTPHosts?

    /// Creates a route.
    package init(
        _ path: String, method: HTTPRequest.Method = .get, lasting: Lasting? = nil, access: Access = .reader,
        handler: @escaping Handler
    ) {
        self.path = path
        self.method = method
        self.lasting = lasting
        self.access = access
        self.handler = handler
    }
}

extension HTTPRoute {
    /// Answers `/livez` and `/ping`; and `/readyz`, `/ready` and `/health`.
    ///
    /// - Parameters:
    ///   - monitor: What is answered.
    ///   - bearerToken: The token without which the reasons of failed checks, which may name hosts, are withheld.
    ///   - operatorToken: The operator's token, which opens them, too.
    package static func health(
        _ monitor: HealthMonitor, bearerToken: String? = nil, operatorToken: String? = nil
    ) -> [HTTPRoute] {
        health(
            liveness: monitor.liveness, readiness: monitor.readiness, bearerToken: bearerToken,
            operatorToken: operatorToken)
    }

    /// Answers the same paths with the checks that closures give.
    static func health(
        liveness: @escaping @Sendable () -> [HealthCheck], readiness: @escaping @Sendable () -> [HealthCheck],
        bearerToken: String?, operatorToken: String?
    ) -> [HTTPRoute] {
        let tokens = [bearerToken, operatorToken].compactMap { $0.map { BearerToken($0) } }
        func report(_ name: String, _ checks: @escaping @Sendable () -> [HealthCheck]) -> Handler {
            { request in
                let isTrusted = bearerToken == nil || tokens.contains { $0.admits(request) }
                return HealthReport(name: name, checks: isTrusted ? checks() : checks().map(\.withoutReason))
                    .response(to: request)
            }
        }
        let live = report("livez", liveness)
        let ready = report("readyz", readiness)
        func probe(_ path: String, _ handler: @escaping Handler) -> HTTPRoute {
            var route = HTTPRoute(path, access: .everybody, handler: handler)
            route.isProbe = true
            return route
        }
        return ["/livez", "/ping"].map { probe($0, live) } + ["/readyz", "/ready", "/health"].map { probe($0, ready) }
    }

    /// Answers `/metrics` with Prometheus text.
    package static func metrics(_ registry: MetricsRegistry) -> HTTPRoute {
        HTTPRoute("/metrics") { _ in .text(registry.render(), type: MetricsRegistry.contentType) }
    }

    /// Answers `/status` with the JSON bytes that the closure gives.
    package static func status(_ bytes: @escaping @Sendable () async throws -> [UInt8]) -> HTTPRoute {
        HTTPRoute("/status") { _ in .bytes(try await bytes(), type: "application/json") }
    }
}

/// Writes health checks as an answer: 200 when all passed, else 503.
struct HealthReport {
    let name: String
    let checks: [HealthCheck]

    func response(to request: Request) -> Response {
        let isOK = checks.allSatisfy(\.isOK)
        let isVerbose = request.uri.queryParameters["verbose"] != nil
        return .text(text(isVerbose: isVerbose), status: isOK ? .ok : .serviceUnavailable)
    }

    /// `ok`; or the failed checks; or, when asked, every check, a line each.
    func text(isVerbose: Bool) -> String {
        let isOK = checks.allSatisfy(\.isOK)
        if isOK && !isVerbose { return "ok\n" }
        var text = ""
        for check in checks where isVerbose || !check.isOK {
            guard let reason = check.reason else {
                text += "[+]\(check.name) ok\n"
                continue
            }
            text += "[-]\(check.name) failed: "
            LogEscape.append(reason, to: &text, quotes: false)
            text += "\n"
        }
        return text + "\(name) check \(isOK ? "passed" : "failed")\n"
    }
}

extension Response {
    /// Creates an answer of text.
    package static func text(
        _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        bytes(Array(text.utf8), status: status, type: type)
    }

    /// Creates an answer of bytes.
    package static func bytes(_ bytes: [UInt8], status: HTTPResponse.Status = .ok, type: String) -> Response {
        let headers: HTTPFields = [.contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff"]
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// Creates an answer that says what is wrong, as JSON (RFC 9457).
    ///
    /// - Parameters:
    ///   - status: The answer's status, whose words are the problem's title.
    ///   - detail: One sentence; must not hold text of the request.
    ///   - code: The kind of problem, where there is a stable one.
    ///   - paths: The known paths, when they help.
    package static func problem(
        _ status: HTTPResponse.Status, detail: String, code: String? = nil, paths: [String] = []
    ) -> Response {
        var object = JSONObject(["title": status.reasonPhrase, "status": status.code])
        object.add("code", code)
        object.add("detail", detail)
        object.add("paths", paths.isEmpty ? nil : paths)
        return bytes(Array((object.json + "\n").utf8), status: status, type: "application/problem+json")
    }
}
