import ObjectGraph

extension AuditEntry {
    /// The entry in one line: number, time, sender, request, and the state or result.
    package var summary: String {
        "\(id)  \(Timestamp.text(time))  \(actor)  \(action) \(request)  \(outcome)"
    }

    /// The entry as a JSON object.
    package var json: String {
        let key = idempotencyKey.map { JSONText.string($0) } ?? "null"
        return "{\"id\":\(id),\"time\":\(JSONText.string(Timestamp.text(time))),\"actor\":\(JSONText.string(actor)),"
            + "\"request\":\(JSONText.string(action)),\"arguments\":\(request),\"idempotencyKey\":\(key),"
            + "\"outcome\":\(result ?? "null")}"
    }

    /// The entry as a JSON object with its outcome in words.
    var line: String {
        "{\"id\":\(id),\"time\":\(JSONText.string(Timestamp.text(time))),\"actor\":\(JSONText.string(actor)),"
            + "\"request\":\(JSONText.string(action)),\"arguments\":\(JSONText.string(request)),"
            + "\"outcome\":\(JSONText.string(outcome))}"
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
        var text = "{\"state\":\"\(state.rawValue)\",\"time\":\(JSONText.string(Timestamp.text(time)))"
        if let lastLetter { text += ",\"lastDeadLetter\":\(lastLetter)" }
        if let code { text += ",\"code\":\(JSONText.string(code)),\"message\":\(JSONText.string(message))" }
        if let result { text += ",\"result\":\(result)" }
        return text + "}"
    }

    /// The state in words, with the result or the reason of a failure, but without the report of a verification.
    private var outcome: String {
        guard let result, let parser = try? JSONParser(),
            let root = try? parser.parse(Array(result.utf8)).root
        else { return "unfinished" }
        return withExtendedLifetime(parser) {
            let state = root.member("state")?.string ?? "unfinished"
            if let code = root.member("code")?.string {
                return "\(state): \(code), \(root.member("message")?.string ?? "")"
            }
            guard let result = root.member("result") else { return state }
            if let count = result.member("problemCount")?.int64 {
                return "\(state): \(VerificationReport.number(ofProblems: Int(count)))"
            }
            return "\(state): \(String(decoding: result.serialized(), as: UTF8.self))"
        }
    }
}
