import Hummingbird
import ObjectGraph

/// Why a request over HTTP is refused. A handler throws it, and the server answers with it.
struct HTTPRefusal: Error, Equatable {
    let status: HTTPResponse.Status
    /// The kind of refusal, where there is a stable one.
    var code: String?
    /// One sentence or two, without text of the request.
    let detail: String
    /// The time after which another attempt may succeed, in seconds.
    var retryAfterSeconds: Int?

    /// The refusal as JSON (RFC 9457).
    var response: Response {
        var response = Response.problem(status, detail: detail, code: code)
        response.headers[.retryAfter] = retryAfterSeconds.map { "\($0)" }
        if status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer realm=\"ingest-worker\"" }
        return response
    }
}

extension HTTPRefusal {
    /// A request without the token.
    static let unauthorized = HTTPRefusal(
        status: .unauthorized, code: "http.unauthorized",
        detail: "This path asks for the header 'Authorization: Bearer TOKEN'.")

    /// A request that means another server.
    static let otherHost = HTTPRefusal(
        status: .misdirectedRequest, code: "http.host",
        detail: "Host names another server. Add the name of a proxy to http.allowedHosts.")

    /// A request beyond the bound on those that may take long.
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
            status: Self.status(of: error), code: error.code, detail: "\(error.message). \(error.remedy)",
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
