/// Decides which lines the log has about connections to single brokers that fail.
///
/// The client reports each attempt. While no broker answers, the log has the outage of all, and nothing about each. So
/// a failure waits for the next question that a broker answers. Times are in seconds of one monotonic clock.
struct BrokenConnections: Sendable {
    /// Is a line about the connection to a broker.
    struct Notice: Equatable, Sendable {
        let broker: String
        let reason: String
        let outage: Outage.Notice
    }

    private struct Connection {
        var reason: String
        var failedAt: Double
        /// Whether it has failed since the last line was decided.
        var isNews = true
        var outage = Outage()
    }

    /// The time without a failure after which the connection counts as sound, in seconds. The client attempts to connect
    /// every ten seconds, and reports a reason that repeats every thirty.
    static let quietSeconds = 60.0
    /// More brokers than that are not told apart.
    private static let maximumCount = 64

    private var connections: [String: Connection] = [:]

    /// Notes a failed connection.
    mutating func failed(_ broker: String, reason: String, at time: Double) {
        if connections.count >= Self.maximumCount, connections[broker] == nil { return }
        var connection = connections[broker] ?? Connection(reason: reason, failedAt: time)
        (connection.reason, connection.failedAt, connection.isNews) = (reason, time, true)
        connections[broker] = connection
    }

    /// Forgets failures that are not told yet: no broker answers, or none did until now.
    mutating func forgetNews() {
        connections = connections.filter { $1.outage.isOpen }
        for broker in connections.keys { connections[broker]?.isNews = false }
    }

    /// Notes a broker's answer to a question, and returns the lines that are due. A failure after the question may
    /// be the first of an outage of all brokers.
    mutating func answered(askedAt start: Double, at time: Double) -> [Notice] {
        var notices: [Notice] = []
        for (broker, var connection) in connections.sorted(by: { $0.key < $1.key }) {
            var notice: Outage.Notice?
            if connection.isNews, connection.failedAt < start {
                connection.isNews = false
                notice = connection.outage.failed(at: time)
            } else if time - connection.failedAt > Self.quietSeconds {
                notice = connection.outage.succeeded(at: time)
            }
            if let notice { notices.append(Notice(broker: broker, reason: connection.reason, outage: notice)) }
            connections[broker] = connection.isNews || connection.outage.isOpen ? connection : nil
        }
        return notices
    }
}
