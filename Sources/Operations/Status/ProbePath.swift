import IngestCore

/// A probe of the worker's HTTP server, for health checks where no other client is at hand.
package enum ProbePath: String, CaseIterable, Sendable {
    /// Whether the worker's loop runs.
    case livez
    /// Whether all checks pass.
    case readyz

    /// Returns nil where the configured worker answers with 200, else the reason.
    package func refusal(of worker: HTTPConfiguration) -> String? {
        let get = HTTPGet(worker)
        guard let answer = get.answer("/\(rawValue)") else { return "nobody answers at \(get.address)" }
        if answer.code == 200 { return nil }
        let body = String(decoding: answer.body.prefix(2048), as: UTF8.self)
        return "\(get.refusal("/\(rawValue)", code: answer.code))\n\(body)"
    }
}
