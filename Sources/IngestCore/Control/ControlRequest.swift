import GraphCore
import RecordDecoding

/// A person's request to a store's writer: the worker that runs, or a command's own process.
package enum ControlRequest: Sendable {
    /// Applies dead letters again.
    case retryDeadLetters(DeadLetterSelection)
    /// Removes dead letters permanently.
    case dropDeadLetters(DeadLetterSelection)
    /// Removes old history.
    case purgeHistory(HistoryPurge)
    /// Lets purges by age go on that a gap between two commits holds.
    case confirmPurges
    /// Sets a cursor of the history to a token.
    case putCursor(String, token: Int64)
    /// Forgets a cursor of the history.
    case removeCursor(String)
    /// Removes notes of resolved conflicts up to a number.
    case dropConflicts(through: Int64)
    /// Gives dead letters out as JSON lines; they stay.
    case exportDeadLetters(DeadLetterSelection)
    /// Checks the store.
    case verify
    /// Writes the store into a new file of the configured folder.
    case backUp(verifies: Bool)

    /// The request's name on the channel and in the log.
    package var name: String {
        switch self {
        case .retryDeadLetters: "dead-letters.retry"
        case .dropDeadLetters: "dead-letters.drop"
        case .purgeHistory: "history.purge"
        case .confirmPurges: "history.confirm"
        case .putCursor: "cursors.put"
        case .removeCursor: "cursors.remove"
        case .dropConflicts: "conflicts.drop"
        case .exportDeadLetters: "dead-letters.export"
        case .verify: "verify"
        case .backUp: "backup"
        }
    }

    /// The names of all requests.
    package static let names = [
        "dead-letters.retry", "dead-letters.drop", "dead-letters.export", "history.purge", "history.confirm",
        "cursors.put", "cursors.remove", "conflicts.drop", "verify", "backup",
    ]

    /// Whether the outcome depends on topics, routes, limits and model.
    var needsConfiguration: Bool {
        if case .retryDeadLetters = self { true } else { false }
    }

    /// Whether the request only reads the store: then it has a thread of its own, beside the writer's.
    var onlyReads: Bool {
        switch self {
        case .exportDeadLetters, .verify, .backUp: true
        default: false
        }
    }

    /// Whether the answer is lines, which no audit keeps: a repetition reads them again.
    package var givesLines: Bool {
        if case .exportDeadLetters = self { true } else { false }
    }

    /// The arguments as a JSON object.
    var arguments: String {
        switch self {
        case .retryDeadLetters(let selection), .dropDeadLetters(let selection), .exportDeadLetters(let selection):
            selection.json
        case .verify, .confirmPurges: "{}"
        case .backUp(let verifies): JSONObject(["verify": verifies]).json
        case .purgeHistory(let purge): purge.json
        case .putCursor(let name, let token): JSONObject(["name": name, "token": token]).json
        case .removeCursor(let name): JSONObject(["name": name]).json
        case .dropConflicts(let id): JSONObject(["through": id]).json
        }
    }

    /// Reads a request.
    ///
    /// - Throws: ``ControlError`` where the request or an argument is not known, or has a wrong type.
    package init(name: String, arguments json: JSONValue?) throws(ControlError) {
        var arguments = try ControlArguments(json)
        switch name {
        case "dead-letters.retry": self = .retryDeadLetters(try DeadLetterSelection(&arguments))
        case "dead-letters.drop": self = .dropDeadLetters(try DeadLetterSelection(&arguments))
        case "history.purge": self = .purgeHistory(try HistoryPurge(&arguments))
        case "history.confirm": self = .confirmPurges
        case "cursors.put":
            let name = try arguments.need("name") { $0.string }
            self = .putCursor(name, token: try arguments.need("token") { $0.int64 })
        case "cursors.remove": self = .removeCursor(try arguments.need("name") { $0.string })
        case "dead-letters.export": self = .exportDeadLetters(try DeadLetterSelection(&arguments))
        case "verify": self = .verify
        case "backup": self = .backUp(verifies: try arguments.take("verify") { $0.bool } ?? true)
        case "conflicts.drop": self = .dropConflicts(through: try arguments.need("through") { $0.int64 })
        default:
            throw ControlError(
                .unknown, "The worker does not know the request '\(name.prefix(40))'",
                remedy: "Use the program that the worker runs, or restart it with the newer one")
        }
        try arguments.end()
    }
}

extension DeadLetterSelection {
    fileprivate var json: String {
        var object = JSONObject()
        object.add("ids", ids)
        object.add("topic", topic)
        object.add("partition", partition)
        object.add("stage", stage)
        object.add("code", code)
        object.add("before", before)
        object.add("since", since)
        object.add("reason", reason)
        return object.json
    }

    fileprivate init(_ arguments: inout ControlArguments) throws(ControlError) {
        self.init()
        ids = try arguments.take("ids") { json in
            let ids = json.elements.compactMap(\.int64)
            return json.kind == .array && ids.count == json.count ? ids : nil
        }
        topic = try arguments.take("topic") { $0.string }
        partition = try arguments.take("partition") { $0.int64.flatMap { Int32(exactly: $0) } }
        stage = try arguments.take("stage") { $0.string }
        code = try arguments.take("code") { $0.string }
        before = try arguments.take("before") { $0.int64 }
        since = try arguments.take("since") { $0.int64 }
        reason = try arguments.take("reason") { $0.string }
    }
}

extension HistoryPurge {
    fileprivate var json: String {
        let passesCursors = passesCursorsSavedBefore != nil
        return switch bound {
        case .time(let time): JSONObject(["beforeTime": time, "passesCursors": passesCursors]).json
        case .token(let token): JSONObject(["beforeToken": token, "passesCursors": passesCursors]).json
        }
    }

    fileprivate init(_ arguments: inout ControlArguments) throws(ControlError) {
        let time = try arguments.take("beforeTime") { $0.int64 }
        let token = try arguments.take("beforeToken") { $0.int64 }
        switch (time, token) {
        case (let time?, nil): self.init(before: .time(time))
        case (nil, let token?): self.init(before: .token(token))
        default: throw .malformed("the purge needs one of 'beforeTime' and 'beforeToken'")
        }
        if try arguments.need("passesCursors", { $0.bool }) { passesCursorsSavedBefore = .max }
    }
}

/// A request, with the facts that the worker compares before it does anything.
package struct ControlEnvelope: Sendable {
    /// The identity of the store that is meant.
    let store: String
    /// The mark of the asking process's settings and model.
    let configuration: String
    let request: ControlRequest
    /// The key by which a repeated request is recognised, or nil.
    let key: String?

    init(store: String, configuration: String, request: ControlRequest, key: String? = nil) {
        self.store = store
        self.configuration = configuration
        self.request = request
        self.key = key
    }

    /// Reads a line.
    ///
    /// - Throws: ``ControlError``.
    init(line: [UInt8]) throws {
        self = try ControlLine.read(line) { root in
            guard let store = root.member("store")?.string, let name = root.member("request")?.string,
                let configuration = root.member("configuration")?.string
            else { throw ControlError.malformed("'request', 'store' or 'configuration' is missing") }
            let request = try ControlRequest(name: name, arguments: root.member("arguments"))
            return ControlEnvelope(store: store, configuration: configuration, request: request)
        }
    }

    var line: [UInt8] {
        ControlLine.text([
            "request": request.name, "store": store, "configuration": configuration,
            "arguments": JSONFragment(request.arguments),
        ])
    }
}
