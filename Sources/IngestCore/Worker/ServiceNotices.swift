/// Decides when the service manager hears of the worker, in the words of `sd_notify(3)`.
///
/// Times are in seconds of one monotonic clock.
struct ServiceNotices {
    /// How often the manager wants to hear that the worker is alive, or nil where it does not ask.
    let watchdogSeconds: Double?
    private var isAnnounced = false
    private var status: String?
    private var lastSign: Double?

    init(watchdogSeconds: Double?) { self.watchdogSeconds = watchdogSeconds }

    /// How long to wait for the next call.
    var intervalSeconds: Double { min(1, (watchdogSeconds ?? 4) / 4) }

    /// Returns the notices that are due; a worker that is not alive gives no sign of life.
    mutating func due(isAlive: Bool, status: String, at time: Double) -> [String] {
        var notices: [String] = []
        if !isAnnounced {
            isAnnounced = true
            notices.append("READY=1")
        }
        if self.status != status {
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

    /// The notice that the worker ends.
    static let stopping = "STOPPING=1"
}
