import GraphCore
import Hummingbird
import IngestCore

/// Why a request over HTTP is refused. A handler throws it, and the server answers with it.
struct HTTPRefusal: Error, Equatable {
    let status: HTTPResponse.Status
    /// The kind of refusal, where there is a stable one.
    var code: String?
    /// One sentence or two, without text of the request.
    let detail: String
    /// The time after which another attempt may succeed, in seconds.
    var retryAfterSeconds: Int?
    /// The error of `WWW-Authenticate` (RFC 6750), where the request has a token.
    var tokenError: String?

    /// The refusal as JSON (RFC 9457).
    var response: Response {
        var response = Response.problem(status, detail: detail, code: code)
        response.headers[.retryAfter] = retryAfterSeconds.map { "\($0)" }
        if status == .unauthorized {
            let error = tokenError.map { ", error=\"\($0)\", error_description=\"\(detail)\"" } ?? ""
            response.headers[.wwwAuthenticate] = "Bearer realm=\"ingest-worker\"\(error)"
        }
        return response
    }
}

extension HTTPRefusal {
    /// A request without a token.
    static let missingToken = HTTPRefusal(
        status: .unauthorized, code: "http.unauthorized",
        detail: "A token is required: this path asks for the header 'Authorization: Bearer TOKEN'.")

    /// A request with another token.
    static let wrongToken = HTTPRefusal(
        status: .unauthorized, code: "http.unauthorized",
        detail: "The token does not match the one that this path asks for.", tokenError: "invalid_token")

    /// A request that means another server.
    static let otherHost = HTTPRefusal(
        status: .misdirectedRequest, code: "http.host",
        detail: "Host names another server. Add the name of a proxy to http.allowedHosts.")

    /// A request on a connection that is kept for probes.
    static let onlyProbes = HTTPRefusal(
        status: .serviceUnavailable, detail: "There are too many connections.", retryAfterSeconds: 5)

    /// A request beyond the bound on requests that may take long.
    static func tooMany(_ lasting: HTTPRoute.Lasting) -> HTTPRefusal {
        func refusal(_ detail: String) -> HTTPRefusal {
            HTTPRefusal(status: .serviceUnavailable, detail: detail, retryAfterSeconds: 5)
        }
        return switch lasting {
        case .stream: refusal("There are too many open streams.")
        case .read: refusal("There are too many reads at a time.")
        case .administration: HTTPRefusal(.tooManyRequests)
        }
    }

    /// A request that the worker refused or failed with.
    init(_ error: ControlError) {
        self.init(
            status: Self.status(of: error), code: error.code, detail: error.explanation,
            retryAfterSeconds: error.isRetriable ? 2 : nil)
    }

    private static func status(of error: ControlError) -> HTTPResponse.Status {
        switch ControlError.Kind(rawValue: error.code) {
        case .malformed, .unknown, .version: .badRequest
        case .tooLong: .contentTooLarge
        case .token, .keyReused: .unprocessableContent
        case .cursorInUse, .configuration, .otherStore, .noBackupFolder: .conflict
        case .forbidden: .forbidden
        case .suspect, .busy, .ending, .interrupted, .late, .silent, .unavailable, .abandoned: .serviceUnavailable
        case nil: error.isRetriable ? .serviceUnavailable : .internalServerError
        }
    }
}
