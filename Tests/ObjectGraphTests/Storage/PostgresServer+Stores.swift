import Dispatch
import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

extension PostgresServer {
    /// Opens a new store in a schema of its own.
    func store(_ model: ObjectModel) throws -> Store {
        try Store.postgres(url: url, schema: newSchema(), model: model)
    }

    /// Waits until a transaction waits for the lock of the store in a schema.
    func waitForWriter(of schema: String) throws {
        let question = """
            SELECT count(*) FROM pg_stat_activity a JOIN pg_locks l USING (pid) \
            WHERE l.relation = '\(schema)._lease'::regclass AND l.granted AND a.wait_event_type = 'Lock'
            """
        try wait(for: "a transaction that waits for \(schema)") { try query(question) != "0" }
    }
}

extension Store {
    /// Makes a store in a schema of its own on the tests' server.
    static func inPostgres(model: ObjectModel) throws -> Store { try PostgresServer.shared.get().store(model) }

    /// Returns the storage.
    func postgres() throws -> PostgresStorage { try #require(storage as? PostgresStorage) }
}

/// Work on a thread of its own, which may wait for locks.
final class Background<Value: Sendable>: Sendable {
    private let end = DispatchSemaphore(value: 0)
    private let result = Mutex<Result<Value, any Error>?>(nil)

    init(_ body: @escaping @Sendable () throws -> Value) {
        let thread = Thread { [self] in
            let made = Result { try body() }
            result.withLock { $0 = made }
            end.signal()
        }
        thread.stackSize = 8 << 20
        thread.start()
    }

    /// Waits for the end of the work, once.
    func value() throws -> Value {
        end.wait()
        return try #require(result.withLock { $0 }).get()
    }
}
