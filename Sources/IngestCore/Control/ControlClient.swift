/// Asks a worker over its socket, and reads its answers. Blocks its thread.
struct ControlClient {
    private let socket: ControlSocket
    private var input: [UInt8] = []

    /// The time after which a worker that says nothing is given up; it says something every few seconds.
    static let silenceSeconds = 30

    /// Connects to the writer of a store; nil where nobody listens.
    ///
    /// - Throws: ``ControlError``.
    init?(path: String) throws(ControlError) {
        guard let socket = try ControlSocket.connect(to: path, timeoutSeconds: Self.silenceSeconds) else { return nil }
        self.socket = socket
    }

    /// Closes the connection; what is under way ends with its next step.
    func close() { socket.close() }

    /// Sends a request and waits for its end.
    ///
    /// - Parameters:
    ///   - envelope: the request.
    ///   - onNote: called with each line for the person who asks.
    ///   - onStep: called with each step that the worker tells.
    /// - Throws: ``ControlError``: what the worker refused or failed with, or that it went away.
    mutating func ask(
        _ envelope: ControlEnvelope, onNote: (String) -> Void, onStep: (StoreStep) -> Void = { _ in }
    ) throws -> ControlResult {
        var rest = envelope.line
        if rest.count > ControlLine.maximumBytes { throw ControlError.tooLong }
        // Where the worker does not take it, it has said why, or has gone.
        while !rest.isEmpty, let count = socket.write(rest), count > 0 { rest.removeFirst(count) }
        var isTaken = false
        while let line = try nextLine() {
            switch try ControlAnswer(line: line, to: envelope.request) {
            case .waiting: break
            case .note(let text): onNote(text)
            case .step(let step): onStep(step)
            case .result(let result): return result
            case .failure(let error): throw error
            }
            isTaken = true
        }
        throw isTaken ? ControlError.interrupted : ControlError.ending
    }

    /// Returns the next line without its end, or nil where nothing follows.
    private mutating func nextLine() throws(ControlError) -> [UInt8]? {
        while true {
            if let end = input.firstIndex(of: 0x0A) {
                defer { input.removeFirst(end + 1) }
                return Array(input[..<end])
            }
            if input.count > ControlLine.maximumBytes { throw .malformed("it is too long") }
            switch socket.read() {
            case .bytes(let bytes): input += bytes
            case .end: return nil
            case .nothing:
                throw ControlError(
                    .silent, "The worker has said nothing for \(Self.silenceSeconds) seconds",
                    remedy: "See whether it still works; what it has done of the request stays")
            }
        }
    }
}
