import IngestCore

/// Saves chunks beside the reading of the next ones, at moments that the seed decides, and on no thread.
final class SimulatedSaver: BesideSaver {
    private unowned let process: SimulatedProcess
    private var save: (@Sendable () -> Void)?
    private var isDone = false

    init(_ process: SimulatedProcess) { self.process = process }

    func start(_ save: @escaping @Sendable () -> Void) {
        self.save = save
        isDone = false
        if process.world.random.number(below: 3) == 0 { carryOut() }
    }

    func wait() {
        carryOut()
        isDone = false
    }

    func hasEnded() -> Bool {
        if process.world.random.number(below: 3) == 0 { carryOut() }
        defer { isDone = false }
        return isDone
    }

    private func carryOut() {
        guard let save else { return }
        self.save = nil
        save()
        isDone = true
    }
}
