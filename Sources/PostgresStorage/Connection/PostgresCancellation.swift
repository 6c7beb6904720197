import CPostgres

/// A request to the server to end the statement that a connection runs.
///
/// Sendable without a check: libpq allows PQcancel on any thread, and nothing here changes.
final class PostgresCancellation: @unchecked Sendable {
    private let request: OpaquePointer

    /// - Parameter connection: the connection, which may be in use on another thread by the time of ``send()``.
    init?(_ connection: OpaquePointer) {
        guard let request = PQgetCancel(connection) else { return nil }
        self.request = request
    }

    deinit { PQfreeCancel(request) }

    /// Sends the request over a connection of its own, and returns once the server has it. A failure changes nothing: the
    /// statement goes on.
    func send() {
        var message = [CChar](repeating: 0, count: 256)
        _ = PQcancel(request, &message, Int32(message.count))
    }
}
