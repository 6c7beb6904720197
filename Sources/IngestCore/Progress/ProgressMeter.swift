import GraphCore

/// Turns the progress of a long work into lines for a person: amount, share, rate, and the time left.
///
/// A value: it takes steps with their times, in seconds of one monotonic clock, and tells when a line is due.
package struct ProgressMeter: Sendable {
    /// Where the lines go.
    package enum Output: Sendable, Equatable {
        /// To a terminal, whose line is written again.
        case terminal
        /// To a file or a pipe, which gets a line every ten seconds.
        case lines
    }

    /// How far a step of the work is.
    package struct Step: Sendable, Equatable {
        /// The name of the step, such as a file or a table.
        package var name: String
        /// The part of the step that is under way, such as a check; nil where it has none.
        package var part: String?
        /// The number of things that are done; nil where they are not counted.
        package var count: Int?
        /// The name of one of the things, such as `record`.
        package var noun: String
        /// The part of the step that is done, from 0 to 1; nil where its end is not known.
        package var share: Double?

        /// The step with its part.
        fileprivate var title: String { part.map { "\(name) \($0)" } ?? name }

        /// Makes a step.
        package init(
            _ name: String, part: String? = nil, count: Int? = nil, noun: String = "", share: Double? = nil
        ) {
            self.name = name
            self.part = part
            self.count = count
            self.noun = noun
            self.share = share.map { $0.isFinite ? min(1, max(0, $0)) : 0 }
        }
    }

    /// A shorter work shows nothing.
    private static let patienceSeconds = 1.0
    /// The time between two lines that stay.
    private static let lineSeconds = 10.0
    /// A rate or a time left needs this much to go by.
    private static let measuringSeconds = 2.0
    private static let barLength = 24

    private let output: Output
    private let start: Double
    private var step: Step?
    /// The step as it began, with the time: a work that goes on from an earlier run has not done all of its share now.
    private var base: (step: Step, time: Double)?
    private var lastLine: Double?

    /// Begins at a time.
    package init(_ output: Output, at time: Double) {
        self.output = output
        start = time
    }

    /// Notes how far a step is. A step of another name begins again.
    package mutating func update(_ step: Step, at time: Double) {
        if base?.step.name != step.name || (step.count ?? 0) < (base?.step.count ?? 0) { base = (step, time) }
        self.step = step
    }

    /// Returns the line that is due, or nil.
    package mutating func line(at time: Double) -> String? {
        let isDue =
            switch output {
            case .terminal: time - start >= Self.patienceSeconds
            case .lines: time - (lastLine ?? start) >= Self.lineSeconds
            }
        guard isDue, let step, let base else { return nil }
        lastLine = time
        let seconds = time - base.time
        var figures: [String] = []
        if let count = step.count {
            figures.append(counted(count, step.noun, as: grouped(Double(count))))
            if seconds >= Self.measuringSeconds {
                let rate = Double(count - (base.step.count ?? 0)) / seconds
                figures.append("\(grouped(rate < 10 ? (rate * 10).rounded() / 10 : rate.rounded()))/s")
            }
        }
        figures.append(remaining(step, base.step, seconds))
        return ([step.title] + (step.share.map { [shown($0)] } ?? []) + [figures.joined(separator: ", ")])
            .joined(separator: "  ")
    }

    /// The step in words for a sentence, such as `copying, 43 %, 2 min 5 s left`, or `backing up (3 s so far)`.
    ///
    /// - Returns: nil before the first step.
    package func phrase(at time: Double) -> String? {
        guard let step, let base else { return nil }
        let remaining = remaining(step, base.step, time - base.time)
        return step.share.map { "\(step.title), \(Int($0 * 100)) %, \(remaining)" } ?? "\(step.title) (\(remaining))"
    }

    /// The part of the step that is done, from 0 to 1; nil where its end is not known.
    package var share: Double? { step?.share }

    /// The time left, or the time so far where the rest is not known.
    private func remaining(_ step: Step, _ base: Step, _ seconds: Double) -> String {
        let soFar = "\(Self.duration(seconds)) so far"
        guard let share = step.share, seconds >= Self.measuringSeconds else { return soFar }
        let done = share - (base.share ?? 0)
        return done > 0 ? "\(Self.duration((1 - share) / done * seconds)) left" : soFar
    }

    private func shown(_ share: Double) -> String {
        let percent = "\(Int(share * 100)) %"
        guard output == .terminal else { return percent }
        let filled = Int(share * Double(Self.barLength))
        return String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barLength - filled)
            + " \(percent)"
    }

    /// Writes seconds for a person: `5 s`, `1 min 5 s`, `2 h 3 min`, `4 d 5 h`.
    package static func duration(_ seconds: Double) -> String {
        let whole = Int(min(max(0, seconds.rounded()), 1e10))
        let (minutes, hours, days) = (whole / 60, whole / 3600, whole / 86_400)
        if days > 0 { return "\(days) d \(hours % 24) h" }
        if hours > 0 { return "\(hours) h \(minutes % 60) min" }
        return minutes > 0 ? "\(minutes) min \(whole % 60) s" : "\(whole) s"
    }
}
