import GraphCore

/// The result of one examination of `check` or `doctor`.
package struct Finding: Sendable {
    /// The kinds of results; the raw values are stable.
    package enum State: String, Sendable {
        /// Nothing is wrong.
        case ok
        /// The worker runs, and something may become a problem.
        case warning
        /// The worker does not run so, or not safely.
        case failed
        /// It could not be examined, or was not to be.
        case skipped
    }

    /// The name of the examined part, such as `broker`.
    package let name: String
    /// The kind of result.
    package let state: State
    /// The facts, without a full stop at the end.
    package let message: String
    /// The remedy; nil where none is needed.
    package let remedy: String?
    /// The error of a failed examination.
    package let error: (any Error)?

    /// The finding in a line for a person: the name, the state, the facts and the remedy.
    package var text: String {
        let label = name + String(repeating: " ", count: max(1, 15 - name.count))
        guard state != .skipped else { return label + message }
        return "\(label)\(state.rawValue)  \(message)" + (remedy.map { ". \($0)" } ?? "")
    }
}

extension Finding: JSONWritable {
    /// An object with `name`, `state`, `message`, `remedy` and `code`, which is null without an error.
    package var json: String {
        JSONObject([
            "name": name, "state": state.rawValue, "message": message, "remedy": remedy,
            "code": (error as? any CodedError)?.stableCode,
        ]).json
    }
}

/// Something to look at: a name, and the work that gives the facts.
package struct Examination {
    /// The facts that an examination found where nothing failed.
    package enum Outcome {
        /// Nothing is wrong.
        case ok(String)
        /// Something may become a problem.
        case warning(String, remedy: String)
        /// It cannot be examined, or need not be.
        case skipped(String)
    }

    /// The name of the part to examine.
    package let name: String
    private let body: () throws -> Outcome

    init(_ name: String, _ body: @escaping () throws -> Outcome) {
        self.name = name
        self.body = body
    }

    /// Does the work. An error becomes a finding that has failed.
    package func run() -> Finding {
        func finding(_ state: Finding.State, _ message: String, _ remedy: String?, _ error: (any Error)?) -> Finding {
            Finding(name: name, state: state, message: message, remedy: remedy, error: error)
        }
        do {
            switch try body() {
            case .ok(let facts): return finding(.ok, facts, nil, nil)
            case .warning(let facts, let remedy): return finding(.warning, facts, remedy, nil)
            case .skipped(let reason): return finding(.skipped, reason, nil, nil)
            }
        } catch let error as any CodedError {
            return finding(.failed, error.placedMessage, error.remedy.isEmpty ? nil : error.remedy, error)
        } catch {
            return finding(.failed, "\(error)", nil, error)
        }
    }
}

/// A failure that an examination itself finds.
package struct ExaminationError: CodedError {
    /// The kinds of failures; the raw values are stable.
    package enum Code: String, Sendable {
        /// The broker lacks a configured topic.
        case topic = "doctor.topic"
        /// The machine does not let the worker run: its disk, its permissions or its limits.
        case machine = "doctor.machine"
        /// A certificate is not valid now.
        case certificate = "doctor.certificate"
        /// The worker that runs does not do its work, or not all of it.
        case worker = "doctor.worker"
        /// The broker does not have the records that the store needs next.
        case position = "doctor.position"
        /// Another member of the group reads partitions that this store has read.
        case group = "doctor.group"
        /// The clock contradicts the store or the broker's records.
        case clock = "doctor.clock"
        /// So many records became dead letters that the verdict is degraded.
        case deadLetters = "doctor.dead_letters"
    }

    /// The kind of failure.
    package let code: Code
    /// The facts.
    package let message: String
    /// The remedy.
    package let remedy: String
}
