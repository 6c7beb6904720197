import Logging
import Synchronization

@testable import IngestCore

/// The lines of a log.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    private let level: Logger.Level

    /// Keeps the lines from a level on.
    init(from level: Logger.Level = .info) { self.level = level }

    var all: [String] { lines.withLock { $0 } }

    /// Where to log.
    var logger: Logger {
        let sink = LogSink(secretValues: []) { bytes in
            self.lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
        return Logger(label: "test") { [level] _ in
            StructuredLogHandler(sink: sink, format: .text, level: level, now: { LogTime(milliseconds: 0) })
        }
    }
}
