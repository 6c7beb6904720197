extension StatusReport {
    /// The state in one sentence.
    package var verdict: String {
        guard let ready else { return "No worker answers; the store was read alone." }
        if let first = failures.first {
            let more = failures.count > 1 ? " (and \(failures.count - 1) more)" : ""
            return "Not ready: \(first.check): \(first.reason)\(more)"
        }
        if !ready { return "Not ready." }
        let lags = positions.compactMap(\.lag)
        guard !lags.isEmpty else { return "Running." }
        return "Running, \(lags.reduce(0, +)) records behind."
    }

    /// The report for a person: one screen, without colours.
    package var text: String {
        var lines = [verdict, ""]
        lines.append("asked          \(worker ?? "the store: \(withoutWorker ?? "")")")
        for failure in failures { lines.append("failed         \(failure.check): \(failure.reason)") }
        lines.append("store          \(store.path), model \(store.model)\(sizes)")
        lines.append("history        token \(history.token)\(notified)")
        lines.append("dead letters   \(deadLetters)")
        lines.append("")
        return (lines + table).joined(separator: "\n")
    }

    private var sizes: String {
        guard let bytes = store.bytes, let walBytes = store.walBytes else { return "" }
        return ", \(bytes) bytes and \(walBytes) bytes of log"
    }

    private var notified: String {
        history.notified.map { ", notified up to \($0)" } ?? ""
    }

    /// The partitions, in columns as wide as their longest cell.
    private var table: [String] {
        if positions.isEmpty { return ["No partition has a position yet: the first commit makes it."] }
        let head = ["topic", "partition", "next offset", "lag"]
        let rows = positions.map {
            [$0.topic, "\($0.partition)", "\($0.nextOffset)", $0.lag.map { "\($0)" } ?? "unknown"]
        }
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        return ([head] + rows).map { row in
            let first = row[0] + String(repeating: " ", count: widths[0] - row[0].count)
            let numbers = row.indices.dropFirst().map { column in
                String(repeating: " ", count: widths[column] - row[column].count) + row[column]
            }
            return ([first] + numbers).joined(separator: "  ")
        }
    }
}
