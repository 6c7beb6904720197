/// Decides how one record goes through the process that runs a program: when the process is started again, and when the
/// record is at fault.
struct ProgramRun: Equatable {
    /// The reason that a process gives for its end, or that the system gives for it.
    enum End: Equatable, Sendable {
        /// It had no more memory.
        case memory
        /// The record took more processor time than it may.
        case time
        /// It ended in another way, as by a signal.
        case other
    }

    enum Event: Equatable {
        /// The record is there; a process may wait for it.
        case begin(isProcessReady: Bool)
        case started
        case notStarted(String)
        case answered
        case ended(End)
        /// The process gave no answer for very long, and was ended.
        case silent
    }

    enum Action: Equatable {
        case start
        case send
        case finish
        /// The record is at fault.
        case fail(code: String, String)
        /// The record is not at fault: it is read again later.
        case wait(String)
    }

    /// Whether the process was started for this record: nothing that an earlier one left is in its memory.
    private var isFresh = false
    private var losses = 0

    mutating func take(_ event: Event) -> Action {
        switch event {
        case .begin(let isProcessReady): return isProcessReady ? .send : .start
        case .started:
            isFresh = true
            return .send
        case .notStarted(let reason): return .wait(reason)
        case .answered: return .finish
        case .ended(.time): return Self.tooSlow
        case .ended(.memory):
            if !isFresh { return .start }
            return .fail(
                code: "jq.memory",
                "The program needs more memory for the record than limits.maxProgramMegabytes. Raise the limit, or send "
                    + "smaller records")
        case .ended(.other): return lost() ?? .fail(code: "jq.crashed", "The record ends the process of the program")
        case .silent: return lost() ?? Self.tooSlow
        }
    }

    /// A process may end for a reason of its own once, so one end says nothing of the record.
    private mutating func lost() -> Action? {
        losses += 1
        return losses == 1 ? .start : nil
    }

    private static let tooSlow = Action.fail(
        code: "jq.time",
        "The program takes more time for the record than limits.maxProgramMilliseconds. Raise the limit, or write the "
            + "program with fewer steps")
}
