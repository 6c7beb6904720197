import Dispatch
import Synchronization

/// The connections that snapshots are read on.
final class PostgresReaderPool: Sendable {
    /// A connection, which one caller at a time takes out of the pool.
    private final class Reader: @unchecked Sendable {
        let connection: PostgresConnection

        init(_ connection: PostgresConnection) { self.connection = connection }
    }

    private struct State {
        var idle: [Reader] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let free: DispatchSemaphore

    /// - Parameter maximumCount: how many connections read at the same time; others wait.
    init(maximumCount: Int) { free = DispatchSemaphore(value: max(1, maximumCount)) }

    /// Calls `body` with a connection, on which it begins and ends a transaction. Where it throws, the transaction is undone.
    ///
    /// - Parameters:
    ///   - interruption: ends a statement of `body` early; nil for never.
    ///   - open: makes a connection where none is idle.
    func read<Result>(
        _ interruption: ReadInterruption?,
        _ open: () throws(StoreError) -> PostgresConnection, _ body: (PostgresConnection) throws -> Result
    ) throws -> Result {
        free.wait()
        defer { free.signal() }
        let idle: Reader? = try state.withLock { state in
            if state.isClosed { throw StoreError.closed }
            return state.idle.popLast()
        }
        let reader = try idle ?? Reader(open())
        defer {
            // A request to end a statement may still be on its way to the server, and would meet the next one.
            if interruption?.isRequested != true { giveBack(reader) }
        }
        do {
            guard let interruption else { return try body(reader.connection) }
            let cancellation = reader.connection.cancellation()
            return try interruption.whileReading(end: { cancellation?.send() }) { try body(reader.connection) }
        } catch {
            reader.connection.undo()
            throw error
        }
    }

    /// Keeps a connection for the next caller, unless the pool is closed. A lost one takes the idle ones along.
    private func giveBack(_ reader: Reader) {
        state.withLock { state in
            // A server that ends one connection has most likely ended all.
            if reader.connection.isLost { state.idle = [] } else if !state.isClosed { state.idle.append(reader) }
        }
    }

    /// Closes the connections; those that are reading are closed when they have read.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.idle = []
        }
    }
}
