/// Decides which lines the log has about a part that fails and is tried again.
///
/// There is one line when the outage begins, at most one a minute while it lasts, and one when it ends. Times are in
/// seconds of one monotonic clock.
struct Outage: Sendable {
    /// Is a line about an outage.
    enum Notice: Equatable, Sendable {
        case began
        /// It has lasted for so many seconds, and the part has failed so often.
        case lasts(seconds: Int, failures: Int)
        case ended(seconds: Int, failures: Int)
    }

    /// The least time between two lines about one outage, in seconds.
    static let secondsBetweenNotices = 60.0

    private var beganAt: Double?
    private var toldAt = 0.0
    private var failures = 0

    /// Whether the part failed the last time.
    var isOpen: Bool { beganAt != nil }

    /// Notes a failure, and returns the line that is due, or nil.
    mutating func failed(at time: Double) -> Notice? {
        failures += 1
        guard let beganAt else {
            (self.beganAt, toldAt) = (time, time)
            return .began
        }
        if time - toldAt < Self.secondsBetweenNotices { return nil }
        toldAt = time
        return .lasts(seconds: Int(time - beganAt), failures: failures)
    }

    /// Notes a success, and returns the line that is due, or nil.
    mutating func succeeded(at time: Double) -> Notice? {
        guard let beganAt else { return nil }
        defer { self = Outage() }
        return .ended(seconds: Int(time - beganAt), failures: failures)
    }
}
