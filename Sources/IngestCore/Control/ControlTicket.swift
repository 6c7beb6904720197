import Foundation
import Synchronization

/// A request that waits for the worker or that the worker carries out, with the answers for its client.
///
/// The worker's threads add answers; the thread of the client takes them.
package final class ControlTicket: Sendable {
    private struct State {
        var answers: [ControlAnswer] = []
        var waitingBytes = 0
        var isFinished = false
        var isAbandoned = false
    }

    let envelope: ControlEnvelope
    /// The name of the client, for the log and the audit.
    let actor: String
    private let state = Mutex(State())
    private let onAnswer: @Sendable () -> Void

    /// The bytes that may wait for the client before the worker goes on with something else.
    static let maximumWaitingBytes = 256 << 10

    package init(_ envelope: ControlEnvelope, from actor: String, onAnswer: @escaping @Sendable () -> Void) {
        self.envelope = envelope
        self.actor = actor
        self.onAnswer = onAnswer
    }

    /// Tells the client something; after the last answer nothing more.
    func tell(_ answer: ControlAnswer) {
        state.withLock { state in
            if state.isFinished || state.isAbandoned { return }
            // The client needs the last step alone, however many it has not taken.
            if case .step = answer, case .step = state.answers.last { state.answers.removeLast() }
            state.answers.append(answer)
            if case .note(let text) = answer { state.waitingBytes += text.utf8.count }
            state.isFinished = answer.isLast
        }
        onAnswer()
    }

    /// Tells the client a line as soon as it takes its answers. Blocks its thread.
    ///
    /// - Throws: ``ControlError/abandoned``.
    func give(_ line: String) throws(ControlError) {
        while !hasRoom {
            if isAbandoned { throw .abandoned }
            Thread.sleep(forTimeInterval: 0.01)
        }
        if isAbandoned { throw .abandoned }
        tell(.note(line))
    }

    /// Removes and returns the answers since the last call, and tells whether nothing follows.
    package func takeAnswers() -> (answers: [ControlAnswer], isLast: Bool) {
        state.withLock { state in
            defer { (state.answers, state.waitingBytes) = ([], 0) }
            return (state.answers, state.isFinished)
        }
    }

    /// Notes that the client is gone, and drops its answers.
    package func abandon() { state.withLock { ($0.isAbandoned, $0.answers, $0.waitingBytes) = (true, [], 0) } }

    /// Whether nobody listens any more.
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }
    /// Whether the client takes its answers as fast as they come.
    var hasRoom: Bool { state.withLock { $0.waitingBytes < Self.maximumWaitingBytes } }
}
