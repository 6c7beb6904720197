import Synchronization

/// A request that waits for the worker or that the worker carries out, with the output for its client.
///
/// The worker's thread adds output; the socket's thread takes it.
final class ControlTicket: Sendable {
    private struct State {
        var output: [UInt8] = []
        var isFinished = false
        var isAbandoned = false
    }

    let envelope: ControlEnvelope
    let peer: ControlPeer
    private let state = Mutex(State())
    private let onOutput: @Sendable () -> Void

    /// The bytes that may wait for the client before the worker goes on with something else.
    static let maximumWaitingBytes = 256 << 10

    init(_ envelope: ControlEnvelope, from peer: ControlPeer, onOutput: @escaping @Sendable () -> Void) {
        self.envelope = envelope
        self.peer = peer
        self.onOutput = onOutput
    }

    /// Tells the client something; after the last answer nothing more.
    func tell(_ answer: ControlAnswer) {
        state.withLock { state in
            if state.isFinished || state.isAbandoned { return }
            state.output += answer.line
            state.isFinished = answer.isLast
        }
        onOutput()
    }

    /// Takes what is to be sent, and whether nothing follows.
    func takeOutput() -> (bytes: [UInt8], isLast: Bool) {
        state.withLock { state in
            defer { state.output = [] }
            return (state.output, state.isFinished)
        }
    }

    /// Takes that the client is gone.
    func abandon() { state.withLock { ($0.isAbandoned, $0.output) = (true, []) } }

    /// Whether nobody listens any more.
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }
    /// Whether the client takes its answers as fast as they come.
    var hasRoom: Bool { state.withLock { $0.output.count < Self.maximumWaitingBytes } }
}
