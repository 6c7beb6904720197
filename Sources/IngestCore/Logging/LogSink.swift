import Glibc
import Synchronization

/// Takes log lines, one write a line; safe from any thread.
package final class LogSink: Sendable {
    private let output: Mutex<@Sendable ([UInt8]) -> Void>
    private let redactor: SecretRedactor

    /// Creates a sink.
    ///
    /// - Parameters:
    ///   - secretValues: Texts that no line may hold, such as passwords of the configuration.
    ///   - output: Takes the bytes of one line, its end included; never called by two threads at once.
    package init(secretValues: [String] = [], output: @escaping @Sendable ([UInt8]) -> Void) {
        redactor = SecretRedactor(secretValues)
        self.output = Mutex(output)
    }

    /// Creates a sink that writes to the process's standard error.
    package static func standardError(secretValues: [String] = []) -> LogSink {
        LogSink(secretValues: secretValues) { bytes in
            bytes.withUnsafeBytes { buffer in
                var rest = buffer[...]
                while !rest.isEmpty {
                    let count = write(STDERR_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if count < 0 && errno == EINTR { continue }
                    // Nothing can report that the log is gone; the work goes on.
                    guard count > 0 else { return }
                    rest = rest.dropFirst(count)
                }
            }
        }
    }

    func emit(_ line: String) {
        let bytes = Array(line.utf8)
        output.withLock { $0(bytes) }
    }

    /// Replaces the secret values in a text.
    func redacted(_ text: String) -> String { redactor.redacted(text) }
}
