import ArgumentParser
import Foundation
import GraphCore
import IngestCore
import Logging
import Synchronization

/// Standard output and error as a command uses them.
enum Console {
    private struct Notes {
        var redactor = SecretRedactor([])
        /// Where standard error is a stream of JSON lines.
        var logger: Logger?
        /// Where the error that ends the program is a line of the log.
        var lastLogger: Logger?
    }

    private static let notes = Mutex(Notes())
    /// The store that the command runs for, where it runs for several.
    private static let store = Mutex<(partition: Int32, marksOutput: Bool)?>(nil)
    /// The first error that kept text from standard output.
    private static let failure = Mutex<Int32?>(nil)

    /// Keeps secrets out of what is noted from now on, and gives notes the form of log lines where these are JSON.
    static func begin(_ configuration: WorkerConfiguration) {
        notes.withLock { notes in
            notes.redactor = SecretRedactor(configuration.secretValues)
            notes.logger = nil
            if configuration.log.format == .json {
                var log = configuration.log
                log.level = .trace
                notes.logger = Logger(
                    label: "ingest-worker",
                    factory: StructuredLogHandler.factory(log, secretValues: configuration.secretValues))
            }
        }
    }

    /// Notes the store that the command runs for from now on, one of several.
    ///
    /// - Parameter marksOutput: whether lines of standard output name the store.
    static func begin(store partition: Int32, marksOutput: Bool) {
        store.withLock { $0 = (partition, marksOutput) }
    }

    /// Notes that what follows is of no store, or of all of them.
    static func endStores() { store.withLock { $0 = nil } }

    static func print(_ text: String) { write(text + "\n") }

    /// Writes to standard output. A command whose text is lost goes on, and ``checkOutput()`` fails at its end.
    static func write(_ text: String) {
        let partition = store.withLock { $0.flatMap { $0.marksOutput ? $0.partition : nil } }
        let text = partition.map { marked(text, $0) } ?? text
        failure.withLock { failure in
            // Text after a gap would look whole.
            if failure == nil { failure = LogSink.write(Array(text.utf8), to: STDOUT_FILENO) }
        }
    }

    /// Returns lines that name a store: objects by a member, texts by a number before them.
    static func marked(_ text: String, _ partition: Int32) -> String {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { line in
            if line.isEmpty { return "\n" }
            return line.first == "{" ? "{\"store\":\(partition),\(line.dropFirst())\n" : "\(partition)  \(line)\n"
        }.joined()
    }

    /// Throws where standard output did not take everything. A reader who has closed the pipe wants no more.
    static func checkOutput() throws {
        guard let failure = failure.withLock({ $0 }), failure != EPIPE else { return }
        throw OutputError(reason: String(cString: strerror(failure)))
    }

    /// Writes a line to standard error, whatever the level of the log. Parts of records cannot control the terminal.
    static func note(_ text: String, level: Logger.Level = .notice) {
        let notes = notes.withLock { $0 }
        let text = store.withLock { $0.map { "store \($0.partition): \(text)" } } ?? text
        if let logger = notes.logger { return logger.log(level: level, "\(text)") }
        draw(notes.redactor.redacted(text).visible + "\n")
    }

    /// Has the error that ends the program be the log's last line, with its code and the exit status as fields.
    static func endInLog(_ logger: Logger) { notes.withLock { $0.lastLogger = logger } }

    /// Writes the error that ends the program.
    static func fail(_ error: any Error, status: Int32) {
        let text = "ingest-worker: \(error)"
        let notes = notes.withLock { $0 }
        guard let logger = notes.logger ?? notes.lastLogger else { return note(text, level: .critical) }
        var metadata: Logger.Metadata = ["exit": .stringConvertible(status)]
        if let error = error as? any CodedError { metadata["code"] = "\(error.stableCode)" }
        logger.critical("\(text)", metadata: metadata)
    }

    /// Writes to standard error as it is. Where the disk under a log is full, the work goes on.
    static func draw(_ text: String) { _ = LogSink.write(Array(text.utf8), to: STDERR_FILENO) }

    /// Tells whether standard error is a terminal, of text, where a progress bar may be drawn.
    static var isTerminal: Bool { Terminal.errors.isPresent && notes.withLock { $0.logger == nil } }
}

/// A command that prints what it reads, and changes no store.
///
/// It ends by SIGPIPE, as Unix tools do, once the reader of its output has enough, as `head` has. Other commands finish
/// their work without a reader.
protocol ReadingCommand: ParsableCommand {}

/// Standard output has not taken everything that a command has printed.
struct OutputError: CodedError {
    let reason: String

    let code = Code.incomplete
    let isRetriable = true
    var message: String { "Standard output is incomplete: \(reason)" }
    let remedy = "Do not use what was written. Make room where the output goes, and run the command again"

    /// The kind of error; the raw value is stable.
    enum Code: String { case incomplete = "output.incomplete" }
}
