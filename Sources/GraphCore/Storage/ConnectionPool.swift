import Dispatch
import Synchronization

/// The connections that snapshots are read on; one caller at a time takes a connection out of the pool.
package final class ConnectionPool<Connection>: Sendable {
    /// The fate of a connection after its use.
    package enum Fate {
        /// The next caller gets it.
        case kept
        case closed
        /// The connection is closed, and so are all connections that nobody uses.
        case closedWithIdle
    }

    private struct Member: @unchecked Sendable {
        let connection: Connection
    }

    private struct State {
        var idle: [Member] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let free: DispatchSemaphore
    private let end: @Sendable (Connection) -> Void

    /// - Parameters:
    ///   - maximumCount: how many connections are in use at the same time; others wait.
    ///   - end: closes a connection.
    package init(maximumCount: Int, end: @escaping @Sendable (Connection) -> Void = { _ in }) {
        free = DispatchSemaphore(value: max(1, maximumCount))
        self.end = end
    }

    /// Calls `body` with an idle connection, or with one that `open` makes.
    package func use<Result>(
        open: () throws -> Connection, fate: (Connection) -> Fate = { _ in .kept },
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        free.wait()
        defer { free.signal() }
        let idle = try state.withLock { state in
            if state.isClosed { throw StoreError.closed }
            return state.idle.popLast()
        }
        let member = try idle ?? Member(connection: open())
        defer { giveBack(member, fate(member.connection)) }
        return try body(member.connection)
    }

    private func giveBack(_ member: Member, _ fate: Fate) {
        let ended = state.withLock { state in
            if fate == .kept, !state.isClosed {
                state.idle.append(member)
                return [Member]()
            }
            defer { if fate == .closedWithIdle { state.idle = [] } }
            return [member] + (fate == .closedWithIdle ? state.idle : [])
        }
        for member in ended { end(member.connection) }
    }

    /// Closes the connections; those in use are closed after it.
    package func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for member in idle { end(member.connection) }
    }
}
