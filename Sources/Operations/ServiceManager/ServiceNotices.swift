/// Decides when the service manager hears of the worker, in the words of `sd_notify(3)`.
///
/// Times are in seconds of one monotonic clock.
struct ServiceNotices {
    /// How often the manager wants to hear that the worker is alive, or nil where it does not ask.
    let watchdogSeconds: Double?
    /// Whether the manager has heard that the worker runs.
    private(set) var isAnnounced = false
    private var status: String?
    private var lastSign: Double?
    private var lastExtension: Double?

    /// Each request for more time asks for so much from then on, and comes six times as often.
    private static let extensionSeconds = 60.0

    init(watchdogSeconds: Double?) { self.watchdogSeconds = watchdogSeconds }

    /// How long to wait for the next call.
    var intervalSeconds: Double { min(1, (watchdogSeconds ?? 4) / 4) }

    /// Returns the notices that are due; a worker that is not alive gives no sign of life.
    ///
    /// - Parameters:
    ///   - isReady: whether the worker runs. Until then the manager is asked for more time.
    ///   - isAlive: whether the worker's loop goes round.
    ///   - status: the state in one sentence; nil where there is no news.
    ///   - time: the time of the call.
    mutating func due(isReady: Bool, isAlive: Bool, status: String?, at time: Double) -> [String] {
        var notices: [String] = []
        if !isAnnounced {
            if isReady {
                isAnnounced = true
                notices.append("READY=1")
            } else if time - (lastExtension ?? -.infinity) >= Self.extensionSeconds / 6 {
                lastExtension = time
                notices.append("EXTEND_TIMEOUT_USEC=\(Int(Self.extensionSeconds * 1_000_000))")
            }
        }
        if let status, self.status != status {
            self.status = status
            // One line is one notice.
            notices.append("STATUS=" + status.split(whereSeparator: \.isNewline).joined(separator: " "))
        }
        // Half of the time that the manager waits: a late wake-up must not end the worker.
        if let watchdogSeconds, isAlive, time - (lastSign ?? -.infinity) >= watchdogSeconds / 2 {
            lastSign = time
            notices.append("WATCHDOG=1")
        }
        return notices
    }

    /// The notice that the process ends.
    static let stopping = "STOPPING=1"
}
