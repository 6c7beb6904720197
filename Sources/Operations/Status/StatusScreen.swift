import GraphCore

/// A screen of `status --watch`: the last report, and the curves of throughput and lag.
///
/// A value: it takes reports with their times and draws them as lines of text.
package struct StatusScreen: Sendable {
    /// The state that decides a colour.
    private enum Tone: String {
        case good = "32"
        case warning = "33"
        case bad = "31"
    }

    /// A point of the curves; nil where a figure is not known.
    private struct Point {
        var recordsPerSecond: Double?
        var lag: Double?
    }

    /// The points that are kept.
    private static let capacity = 240
    private static let labelLength = 15
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    private var points: [Point] = []
    private var last: (report: StatusReport, time: Double)?
    private var failure: String?

    package init() {}

    /// Shows a report, at a time in seconds of a monotonic clock.
    package mutating func show(_ report: StatusReport, at time: Double) {
        append(Point(recordsPerSecond: rate(report, at: time), lag: Self.lag(report)))
        last = (report, time)
        failure = nil
    }

    /// Notes that a request for the report failed, and why.
    package mutating func show(failure reason: String) {
        append(Point())
        last = nil
        failure = reason
    }

    private mutating func append(_ point: Point) {
        if points.count == Self.capacity { points.removeFirst() }
        points.append(point)
    }

    /// The records a second since the last report; nil without one, and where another worker answers.
    private func rate(_ report: StatusReport, at time: Double) -> Double? {
        guard let count = report.counts?.records, let last, let before = last.report.counts?.records, count >= before,
            last.report.worker == report.worker, time > last.time
        else { return nil }
        return (Double(count) - Double(before)) / (time - last.time)
    }

    /// The records behind of all partitions that the worker reads; nil where that is not known of one.
    private static func lag(_ report: StatusReport) -> Double? {
        let read = report.positions.filter { $0.state != nil && $0.state != "unassigned" }
        let lags = read.compactMap(\.lag)
        return lags.isEmpty || lags.count < read.count ? nil : lags.reduce(0) { $0 + Double($1) }
    }

    // MARK: Drawing

    /// Returns the lines of the screen, as many and as long as it has room for.
    ///
    /// - Parameters:
    ///   - size: the columns and rows of the terminal.
    ///   - clock: the time of day that the first line shows.
    ///   - hasColours: whether the verdict has the colour of its state.
    package func lines(size: (columns: Int, rows: Int), clock: String, hasColours: Bool) -> [String] {
        let columns = max(20, size.columns)
        var lines = [title(columns, clock, hasColours), ""]
        lines.append(curve("records/s", points.map(\.recordsPerSecond), columns) { $0.rounded() })
        lines.append(curve("lag", points.map(\.lag), columns) { $0 })
        lines.append("")
        let end = ["", "q ends"]
        if let report = last?.report {
            lines += report.lines + [""]
            let room = max(2, size.rows - lines.count - end.count)
            let table = report.table
            let isCut = table.count > room
            lines += table.prefix(isCut ? room - 1 : room)
            if isCut {
                lines.append("… \(counted(table.count - room + 1, "more partition")); a taller window shows them")
            }
        }
        return (lines + end).prefix(max(1, size.rows)).enumerated().map { index, line in
            index == 0 ? line : Self.cut(line, columns)
        }
    }

    private func title(_ columns: Int, _ clock: String, _ hasColours: Bool) -> String {
        let sentence = failure ?? last?.report.sentence ?? "Waiting for the first answer"
        let room = columns - clock.count - 2
        let text = Self.cut(sentence, room)
        let gap = String(repeating: " ", count: max(2, columns - text.count - clock.count))
        return (hasColours ? "\u{1B}[1;\(tone.rawValue)m\(text)\u{1B}[0m" : text) + gap + clock
    }

    private var tone: Tone {
        guard failure == nil, let report = last?.report else { return .bad }
        switch report.verdict?.state {
        case .running, .idle: return report.verdict?.attention.isEmpty == true ? .good : .warning
        case .stopped: return .bad
        default: return .warning
        }
    }

    /// Draws one figure over time: the present number, and a curve from 0 to its greatest value.
    private func curve(
        _ label: String, _ values: [Double?], _ columns: Int, _ shown: (Double) -> Double
    ) -> String {
        let number = (values.last ?? nil).map { grouped(min(shown($0), 1e15)) } ?? "unknown"
        let name = label + String(repeating: " ", count: Self.labelLength - label.count)
        let value = String(repeating: " ", count: max(0, 10 - number.count)) + number
        let room = max(0, columns - Self.labelLength - value.count - 2)
        let part = values.suffix(room)
        let greatest = part.compactMap(\.self).max() ?? 0
        let bars = part.map { value -> Character in
            guard let value else { return " " }
            let height = greatest > 0 ? value / greatest * Double(Self.bars.count - 1) : 0
            return Self.bars[min(Self.bars.count - 1, max(0, Int(height.rounded())))]
        }
        return name + value + "  " + String(bars)
    }

    private static func cut(_ line: String, _ columns: Int) -> String {
        line.count <= columns ? line : String(line.prefix(max(1, columns - 1))) + "…"
    }
}
