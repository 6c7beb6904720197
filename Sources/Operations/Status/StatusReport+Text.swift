import GraphCore
import IngestCore

extension StatusReport {
    /// The state in one sentence.
    package var sentence: String {
        if let verdict { return verdict.sentence }
        return isSuspect == true
            ? "No worker answers. The disk failed under the store, or the store is damaged: look into it before the next start."
            : "No worker answers; the store was read alone."
    }

    private static let suspicion =
        "attention      the store is marked as suspect: the next writer verifies it first. 'ingest-worker verify' lists "
        + "the problems. \(StoreError.damageRemedy)."

    /// The report for a person: one screen, without colours.
    package var text: String { ([sentence, ""] + lines + [""] + table).joined(separator: "\n") }

    /// The lines between the sentence and the table.
    var lines: [String] {
        var lines: [String] = []
        lines.append("asked          \(worker ?? "the store: \(withoutWorker ?? "")")")
        for thing in verdict?.attention ?? [] {
            lines.append("attention      \(thing.title): \(thing.reason). \(thing.remedy)")
        }
        if let diskFault { lines.append("attention      \(diskFault)") }
        if let heldPurges { lines.append("attention      \(heldPurges)") }
        if isSuspect == true { lines.append(Self.suspicion) }
        lines.append("store          \(store.path), model \(store.model)\(sizes)")
        lines.append("history        token \(history.token)\(notified)")
        lines.append("dead letters   \(deadLetters)\(codes)")
        if let checks { lines.append("checks         \(Self.summary(checks))") }
        return lines
    }

    private var codes: String {
        let codes = (deadLettersByCode ?? [:]).sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return codes.isEmpty ? "" : ": " + codes.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    private static func summary(_ checks: [String: Bool]) -> String {
        let failed = checks.filter { !$0.value }.keys.sorted()
        return "\(checks.count - failed.count) of \(checks.count) pass"
            + (failed.isEmpty ? "" : "; failing: \(failed.joined(separator: ", "))")
    }

    private var sizes: String {
        guard let bytes = store.bytes, let walBytes = store.walBytes else { return "" }
        // PostgreSQL has no log beside the store.
        return ", \(ByteCount.text(bytes))" + (walBytes > 0 ? " and \(ByteCount.text(walBytes)) of log" : "")
    }

    private var notified: String {
        history.notified.map { ", notified up to \($0)" } ?? ""
    }

    private func state(_ position: Position) -> String {
        guard let state = position.state else { return "" }
        return position.reason.map { "\(state): \($0)" } ?? state
    }

    private func lag(_ position: Position) -> String {
        guard let lag = position.lag else { return "unknown" }
        guard lag > 0, let seconds = position.lagSeconds else { return "\(lag)" }
        return "\(lag) (\(ProgressMeter.duration(seconds)))"
    }

    /// The partitions, in columns as wide as their longest cell.
    var table: [String] {
        if positions.isEmpty { return ["No partition has a position yet: the first commit makes it."] }
        let head = ["topic", "partition", "next offset", "lag", "state"]
        let rows = positions.map {
            [$0.topic, "\($0.partition)", "\($0.nextOffset)", lag($0), state($0)]
        }
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        return ([head] + rows).map { row in
            let first = row[0] + String(repeating: " ", count: widths[0] - row[0].count)
            let numbers = (1...3).map { column in
                String(repeating: " ", count: widths[column] - row[column].count) + row[column]
            }
            let line = ([first] + numbers + [row[4]]).joined(separator: "  ")
            return row[4].isEmpty ? String(line.dropLast(2)) : line
        }
    }
}
