import Synchronization

/// The demo's counts while it runs; safe from any thread.
final class DemoTally: Sendable {
    struct Counts {
        var sent = 0
        var expectedDeadLetters: [String: Int] = [:]
        var deadLetters: [String: Int] = [:]
        var notifications = 0
        var lastToken: Int64 = 0
        var changes = 0
        var isOrdered = true
        /// A signal ended the demo before all was sent and read.
        var isInterrupted = true
        var httpPort: Int?
    }

    private let counts = Mutex(Counts())

    func noteSent(_ event: DemoEvents.Event) {
        counts.withLock {
            $0.sent += 1
            if let code = event.expectedCode { $0.expectedDeadLetters[code, default: 0] += 1 }
        }
    }

    func noteDeadLetter(_ code: String) { counts.withLock { $0.deadLetters[code, default: 0] += 1 } }

    /// Notes that the demo ended by itself.
    func noteEnd() { counts.withLock { $0.isInterrupted = false } }

    func noteHTTP(port: Int) { counts.withLock { $0.httpPort = port } }

    func noteNotification(token: Int64, changes: Int) {
        counts.withLock {
            $0.notifications += 1
            $0.changes += changes
            if token < $0.lastToken { $0.isOrdered = false }
            $0.lastToken = max($0.lastToken, token)
        }
    }

    var current: Counts { counts.withLock { $0 } }
}
