@preconcurrency import Dispatch
import Foundation
import GraphModel
import IngestCore
import Synchronization

/// Shows the progress of a command on standard error: one line on a terminal, and a line every ten seconds elsewhere.
///
/// A timer draws, so that a step that tells nothing for long still shows its time.
final class ProgressPrinter: Sendable {
    private struct State {
        var meter: ProgressMeter
        var look: (@Sendable () -> ProgressMeter.Step?)?
        var hasDrawn = false
        var isFinished = false
    }

    private let isTerminal: Bool
    private let state: Mutex<State>
    private let timer: (any DispatchSourceTimer)?

    /// Begins to show progress.
    ///
    /// - Parameter isShown: false shows nothing, as for a command that prints JSON.
    init(isShown: Bool) {
        isTerminal = Console.isTerminal
        let output = isTerminal ? ProgressMeter.Output.terminal : .lines
        state = Mutex(State(meter: ProgressMeter(output, at: MonotonicClock.seconds())))
        timer = isShown ? DispatchSource.makeTimerSource(queue: DispatchQueue(label: "progress")) : nil
        timer?.schedule(deadline: .now() + 0.25, repeating: 0.25)
        timer?.setEventHandler { [weak self] in self?.draw() }
        timer?.activate()
    }

    /// Shows how far a step is.
    func show(_ step: ProgressMeter.Step) {
        state.withLock { state in
            state.look = nil
            state.meter.update(step, at: MonotonicClock.seconds())
        }
    }

    /// Looks from now on how far a step is, each time that a line is drawn.
    func watch(_ look: @escaping @Sendable () -> ProgressMeter.Step?) { state.withLock { $0.look = look } }

    /// Calls `body`, and ends the line on the terminal afterwards, also where it throws.
    func finishing<Result>(_ body: () throws -> Result) rethrows -> Result {
        defer { finish() }
        return try body()
    }

    /// Writes a line to standard error that stays.
    func note(_ text: String) {
        state.withLock { state in
            if state.hasDrawn, !state.isFinished { Console.draw("\r\u{1B}[K") }
            Console.note(text)
        }
    }

    /// Calls `body`, which asks a question: no line is drawn meanwhile.
    func pausing<Result>(_ body: () -> Result) -> Result {
        state.withLock { state in
            if state.hasDrawn, !state.isFinished { Console.draw("\r\u{1B}[K") }
            return body()
        }
    }

    /// Ends the line on the terminal.
    func finish() {
        timer?.cancel()
        state.withLock { state in
            state.look = nil
            state.isFinished = true
            if state.hasDrawn { Console.draw("\r\u{1B}[K") }
        }
    }

    private func draw() {
        let look = state.withLock { $0.look }
        let found = look?()
        state.withLock { state in
            let now = MonotonicClock.seconds()
            if state.look != nil, let found { state.meter.update(found, at: now) }
            guard !state.isFinished, let line = state.meter.line(at: now) else { return }
            guard isTerminal else { return Console.note(line) }
            state.hasDrawn = true
            Console.draw("\r\u{1B}[K\(line.prefix(Terminal.errors.size.columns - 1))")
        }
    }
}

extension ProgressPrinter {
    /// Shows how far a file is replayed.
    func show(_ progress: ReplayEngine.Progress) {
        let share = progress.totalBytes.map { Double(progress.bytesRead) / Double(max(1, $0)) }
        show(
            ProgressMeter.Step(
                URL(fileURLWithPath: progress.path).lastPathComponent, count: progress.records, noun: "record",
                share: share))
    }

    /// Shows how far a topic is replayed.
    func show(_ progress: TopicReplay.Progress) {
        let share = progress.total > 0 ? Double(progress.passed) / Double(progress.total) : nil
        show(ProgressMeter.Step(progress.topic, count: progress.records, noun: "record", share: share))
    }

    /// Shows the step of a backup that begins or goes on.
    func show(_ step: StoreStep) {
        switch step {
        case .writing(let path, let byteCount):
            watch {
                let attributes = try? FileManager.default.attributesOfItem(atPath: path)
                guard let size = attributes?[.size] as? Int else { return nil }
                return ProgressMeter.Step(
                    "copying", count: size / 1_000_000, noun: "megabyte",
                    share: Double(size) / Double(max(1, byteCount)))
            }
        case .copying(let table, let rowCount): show(table: table, rowCount: rowCount)
        case .verifying(let check, let count, let share):
            show(
                ProgressMeter.Step(
                    "verifying", part: check, count: count > 0 ? count : nil, noun: "value", share: share))
        }
    }

    /// Shows how many rows of a table are copied.
    func show(table: String, rowCount: Int) { show(ProgressMeter.Step(table, count: rowCount, noun: "row")) }
}
