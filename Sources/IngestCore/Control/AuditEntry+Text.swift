import GraphCore
import RecordDecoding

extension AuditEntry {
    /// The entry in one line: number, time, sender, request, and the state or result.
    package var summary: String {
        "\(id)  \(Timestamp.text(time))  \(actor)  \(action) \(request)  \(outcome)"
    }

    /// The entry as a JSON object.
    package var json: String {
        JSONObject([
            "id": id, "time": Timestamp.text(time), "actor": actor, "request": action,
            "arguments": JSONFragment(request), "idempotencyKey": idempotencyKey,
            "outcome": result.map { JSONFragment($0) },
        ]).json
    }

    /// The entry as a JSON object with its outcome in words.
    package var line: JSONObject {
        JSONObject([
            "id": id, "time": Timestamp.text(time), "actor": actor, "request": action, "arguments": request,
            "outcome": outcome,
        ])
    }

    /// An outcome as the store keeps it.
    ///
    /// - Parameters:
    ///   - time: when the last step ended, in microseconds since 1970 UTC.
    ///   - lastLetter: the last dead letter that the request is about, while it is under way.
    ///   - code: the code of a failure, with its message.
    ///   - result: the result so far, as JSON.
    static func outcome(
        _ state: RequestAudit.State, at time: Int64, lastLetter: Int64? = nil, code: String? = nil,
        message: String = "", result: String? = nil
    ) -> String {
        var object = JSONObject(["state": state.rawValue, "time": Timestamp.text(time)])
        object.add("lastDeadLetter", lastLetter)
        object.add("code", code)
        object.add("message", code == nil ? nil : message)
        object.add("result", result.map { JSONFragment($0) })
        return object.json
    }

    /// The state in words, with the result or the reason of a failure, but without the report of a verification.
    private var outcome: String {
        let parser = JSONParser()
        guard let result, let root = try? parser.parse(Array(result.utf8)).root else { return "unfinished" }
        return withExtendedLifetime(parser) {
            let state = root.member("state")?.string ?? "unfinished"
            if let code = root.member("code")?.string {
                return "\(state): \(code), \(root.member("message")?.string ?? "")"
            }
            guard let result = root.member("result") else { return state }
            if let count = result.member("problemCount")?.int64 {
                return "\(state): \(VerificationReport.number(ofProblems: Int(count)))"
            }
            // A retry that leaves dead letters has not done everything that it was asked for.
            let word = (result.member("failed")?.int64 ?? 0) > 0 ? "incomplete" : state
            return "\(word): \(String(decoding: result.serialized(), as: UTF8.self))"
        }
    }
}
