import Foundation
import GRDBSQLite
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// A transaction that SQLite could not undo is undone before anything else: nobody commits it, or reads in it.
@Suite struct FailedRollbackTests {
    private let store: Store

    init() throws { store = try TestStorage.sqlite.store(configuredModel("chat")) }

    /// Lets SQLite prepare neither a rollback nor a write of a position, as without memory for them.
    private static func refuseStatements(on connection: OpaquePointer) {
        sqlite3_set_authorizer(
            connection,
            { _, action, subject, _, _, _ in
                let name = subject.map { String(cString: $0) }
                let isRefused =
                    action == SQLITE_TRANSACTION && name == "ROLLBACK" || action == SQLITE_INSERT && name == "_position"
                return isRefused ? SQLITE_DENY : SQLITE_OK
            }, nil)
    }

    /// Not by `onWriter`, which tries the rollback first.
    private func allowStatements() throws {
        try store.sqlite().database.unsafeReentrantWrite { _ = sqlite3_set_authorizer($0.sqliteConnection, nil, nil) }
    }

    private var chunk: WriterContext.Chunk {
        WriterContext.Chunk(
            events: [ChangeSet(store.model.upsert("Chat", "c1", []))],
            positions: [SourcePosition(topic: "t", partition: 0, nextOffset: 1)])
    }

    private func expectContent(_ count: Int) throws {
        let counts = try store.read { [try $0.fetch(FetchRequest("Chat")).count, try $0.positions().count] }
        #expect(counts == [count, count])
    }

    enum NextUse: CaseIterable { case close, commit, apply, anotherWriter }

    @Test(arguments: NextUse.allCases) func `no later use of the store commits it`(use: NextUse) throws {
        var writer: WriterContext? = try WriterContext(store: store)
        try store.sqlite().onWriter { Self.refuseStatements(on: $0) }
        #expect(throws: StoreError.self) { _ = try writer?.apply(chunk) }
        #expect(throws: StoreError.self) { try writer?.commit() }
        if use == .anotherWriter { writer = nil }
        try allowStatements()
        switch use {
        case .close: try writer?.close()
        case .commit: try writer?.commit()
        case .apply:
            _ = try writer?.apply(chunk)
            try writer?.commit()
        case .anotherWriter:
            var later = WriterContext.Options()
            later.now = { Int64(Date.now.timeIntervalSince1970 * 1_000_000) + 3_600_000_000 }
            try WriterContext(store: store, options: later).close()
        }
        try expectContent(use == .apply ? 1 : 0)
    }

    @Test func `a reader's next read begins at the store as it is`() throws {
        var reader: OpaquePointer?
        let failure = StoreError(.value, "A stored value cannot be worked with", remedy: "Correct it")
        #expect(throws: failure) {
            try store.storage.read(nil) { session, _ in
                _ = try session.positions()
                reader = (session as? SQLiteSnapshot)?.database.sqliteConnection
                if let reader { Self.refuseStatements(on: reader) }
                throw failure
            }
        }
        let connection = try #require(reader)
        #expect(sqlite3_get_autocommit(connection) == 0)
        let writer = try WriterContext(store: store)
        _ = try writer.apply(chunk)
        try writer.close()
        sqlite3_set_authorizer(connection, nil, nil)
        try expectContent(1)
    }
}
