/// The limits of the control channel: the number of clients at a time, and the time that each may take.
package struct ControlLimits: Sendable {
    /// The clients that are served at a time.
    var clients = 8
    /// The time for a request to arrive, in seconds.
    var requestSeconds = 5.0
    /// The time for which a client may take nothing of what is written, in seconds.
    var stallSeconds = 10.0
    /// The time after which a client that waits hears something, in seconds.
    var silenceSeconds = 5.0
}

/// The state of the exchange with one client: the client's bytes in, the answer's bytes out, and the deadlines.
///
/// Times are in seconds of one monotonic clock.
struct ControlExchange {
    /// The server's next step.
    enum Action: Equatable {
        case wait
        /// The request has arrived.
        case submit([UInt8])
        /// Nothing more is to be heard of it, or said to it.
        case close
        /// The server answers with the reason, then closes the connection.
        case refuse(ControlError)
        /// A sign of life is due.
        case reassure
    }

    private let limits: ControlLimits
    private var input: [UInt8] = []
    private var isAnswering = false
    private var isLast = false
    /// The bytes that the client has not taken yet.
    private(set) var output: [UInt8] = []
    private var since: Double

    init(_ limits: ControlLimits = ControlLimits(), at time: Double) {
        self.limits = limits
        since = time
    }

    /// Whether a request is still to come.
    var isReading: Bool { !isAnswering }

    /// Reads bytes that the client sent. It ignores bytes behind the request.
    mutating func received(_ bytes: [UInt8], at time: Double) -> Action {
        guard isReading else { return .wait }
        if let end = bytes.firstIndex(of: 0x0A) {
            input += bytes[..<end]
        } else {
            input += bytes
        }
        if input.count > ControlLine.maximumBytes {
            return refused(.tooLong, at: time)
        }
        guard bytes.contains(0x0A) else { return .wait }
        (isAnswering, since) = (true, time)
        defer { input = [] }
        return .submit(input)
    }

    /// Notes that the client sends nothing more.
    mutating func ended() -> Action { isReading ? .close : .wait }

    private mutating func refused(_ error: ControlError, at time: Double) -> Action {
        (isAnswering, since, input) = (true, time, [])
        return .refuse(error)
    }

    /// Adds bytes of the answer.
    ///
    /// - Parameter isLast: whether nothing follows.
    mutating func answer(_ bytes: [UInt8], isLast: Bool, at time: Double) {
        if output.isEmpty { since = time }
        output += bytes
        self.isLast = isLast
    }

    /// Notes how many bytes the client took; nil where the client is gone.
    mutating func wrote(_ count: Int?, at time: Double) -> Action {
        guard let count else { return .close }
        if count > 0 { since = time }
        output.removeFirst(count)
        return isLast && output.isEmpty ? .close : .wait
    }

    /// When ``passed(at:)`` has something to do.
    var deadline: Double {
        if isReading { return since + limits.requestSeconds }
        return since + (output.isEmpty ? limits.silenceSeconds : limits.stallSeconds)
    }

    /// Notes that time has passed.
    mutating func passed(at time: Double) -> Action {
        if time < deadline { return .wait }
        if isReading {
            let error = ControlError(
                .late, "The request did not arrive within \(limits.requestSeconds) seconds",
                remedy: "Run the command again")
            return refused(error, at: time)
        }
        return output.isEmpty ? .reassure : .close
    }
}
