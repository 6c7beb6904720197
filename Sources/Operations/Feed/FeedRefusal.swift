import GraphCore
import Hummingbird

/// Says why the feed does not serve a reader, and how the reader goes on.
struct FeedRefusal: CodedError, Equatable {
    let status: HTTPResponse.Status
    /// The kind of refusal; stable.
    let code: String
    /// One sentence, without text of the request.
    let message: String
    /// The remedy for the reader.
    let remedy: String
    /// Whether the reader has to read the store again.
    let isExpired: Bool
    /// The failure of the store.
    var cause: StoreError?

    /// No store of any partition is open.
    static let noStore = FeedRefusal(
        status: .serviceUnavailable, code: StoreError.Code.unavailable.rawValue, message: "No store is open now.",
        remedy: "Try again later; /readyz says more.", isExpired: false)

    static func badParameter(_ message: String) -> FeedRefusal {
        FeedRefusal(
            status: .badRequest, code: "feed.bad_parameter", message: message, remedy: "Correct the address.",
            isExpired: false)
    }

    private init(status: HTTPResponse.Status, code: String, message: String, remedy: String, isExpired: Bool) {
        (self.status, self.code, self.message) = (status, code, message)
        (self.remedy, self.isExpired) = (remedy, isExpired)
    }

    /// Turns the store's error about a token into a refusal; other failures are the server's own.
    ///
    /// - Parameter partition: the partition of the store where it is one of several.
    init(_ error: StoreError, partition: Int32? = nil) {
        let place = partition.map { "Store \($0): " } ?? ""
        switch error.code {
        case .historyExpired, .historyForeignToken, .historyTokenAhead, .historyForked:
            self.init(
                status: .gone, code: error.code.rawValue, message: "\(place)\(error.message).", remedy: Self.wayBack,
                isExpired: true)
        case .historyMalformedToken:
            self.init(
                status: .badRequest, code: error.code.rawValue, message: "\(place)\(error.message).",
                remedy: "Give a token as it was handed out, a number, or 'latest'.", isExpired: false)
        case .timeLimit:
            self.init(
                status: .serviceUnavailable, code: error.code.rawValue, message: "\(place)\(error.message).",
                remedy: "Ask for fewer transactions with 'limit'.", isExpired: false)
        default:
            self.init(
                status: .serviceUnavailable, code: error.code.rawValue,
                message: "\(place)The store cannot be read now.",
                remedy: "Try again later; the worker's log says more.", isExpired: false)
        }
        cause = error
    }

    private static let wayBack =
        "Note the token of 'latest', read the objects that you need from the store, and replace yours by them. "
        + "Then go on after the noted token."

    /// The refusal as JSON (RFC 9457); `latest` is the store's present token, where it is known.
    func json(latest: String?) -> String {
        var object = JSONObject([
            "title": status.reasonPhrase, "status": status.code, "code": code, "detail": message, "remedy": remedy,
        ])
        if isExpired {
            // Both are places to go on from: what the history still holds, and what comes next.
            object.add("oldest", ChangeFeed.path)
            object.add("latest", latest.map { "\(ChangeFeed.path)?after=\($0)" })
            object.add("token", latest)
        }
        return object.json
    }

    func response(latest: String?) -> Response {
        var response = Response.bytes(
            Array((json(latest: latest) + "\n").utf8), status: status, type: "application/problem+json")
        if status == .serviceUnavailable { response.headers[.retryAfter] = "5" }
        return response
    }
}
