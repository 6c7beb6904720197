import Glibc
import Synchronization

/// Writes log lines, one write a line; safe from any thread.
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
        // Nothing can report that the log is gone; the work goes on.
        LogSink(secretValues: secretValues) { _ = write($0, to: STDERR_FILENO) }
    }

    /// Writes bytes to a descriptor, and returns the number of the error that kept a part of them from there.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 { rest = rest.dropFirst(count) }
                guard count < 0, errno != EINTR else { continue }
                guard errno == EAGAIN else { return errno }
                // A pipe that another program made so takes more when it is read.
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&room, 1, -1)
            }
            return nil
        }
    }

    func emit(_ line: String) {
        let bytes = Array(line.utf8)
        output.withLock { $0(bytes) }
    }

    /// Replaces the secret values in a text.
    func redacted(_ text: String) -> String { redactor.redacted(text) }
}
