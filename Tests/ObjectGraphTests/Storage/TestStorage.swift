import Foundation
import ObjectGraph
import StoreSQL
import Synchronization
import Testing

@testable import GraphCore
@testable import MemoryStorage
@testable import PostgresStorage
@testable import SQLiteStorage

/// The storages on which a test runs.
enum TestStorage: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sqlite, memory, postgres

    var testDescription: String { rawValue }

    /// The storage of the stores that tests of the graph make: `INGEST_TEST_STORAGE` names another one.
    static let current =
        TestStorage(rawValue: ProcessInfo.processInfo.environment["INGEST_TEST_STORAGE"] ?? "") ?? .sqlite

    /// Makes an empty store.
    func store(_ model: ObjectModel) throws -> Store {
        switch self {
        case .sqlite: try .inMemory(model: model)
        case .memory: .inMemoryTables(model: model)
        case .postgres: try .inPostgres(model: model)
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// A test that cannot hold on other storages; docs/reference/storages.md lists them.
    static func onlyInSQLite(_ reason: Comment) -> Self { .enabled(if: TestStorage.current == .sqlite, reason) }
}

extension Store {
    /// Calls `body` with a snapshot of the store, or of a copy of it in another storage.
    func read<Result>(from storage: TestStorage, _ body: (ReadContext) throws -> Result) throws -> Result {
        guard self.storage is SQLiteStorage else { return try read(body) }
        return try read { context in
            switch storage {
            case .sqlite: try body(context)
            case .memory: try body(ReadContext(MemorySnapshot(MemoryTables(context), model: model), model: model))
            case .postgres: try PostgresCopies.copy(MemoryTables(context), model).read(body)
            }
        }
    }
}

/// Copies of the stores that tests have read last, for tests that ask a store many questions.
private enum PostgresCopies {
    private static let copies = Mutex<[(lines: [String], model: String, store: Store)]>([])

    static func copy(_ tables: MemoryTables, _ model: ObjectModel) throws -> Store {
        let lines = tables.lines(model) + [tables.storeID]
        let known = copies.withLock { all in all.first { $0.lines == lines && $0.model == model.yaml }?.store }
        if let known { return known }
        let store = try tables.inPostgres(model)
        copies.withLock { all in all = Array(all.suffix(7)) + [(lines, model.yaml, store)] }
        return store
    }
}

extension MemoryTables {
    /// Copies the whole content of a store in SQLite.
    init(_ context: ReadContext) throws {
        let (model, session) = (context.model, context.session)
        let snapshot = try context.sqlite()
        self.init(model)
        storeID = try session.storeID()
        for entity in model.rootEntities {
            let keys = try snapshot.all("SELECT pk FROM \(SQLText.quoted(entity.tableName))") { $0.integer(0) }
            let found = try session.storedRows(entity, primaryKeys: keys)
            let changed = Dictionary(uniqueKeysWithValues: found.map { ($0.pk, StoredRow?.some($0)) })
            try rows[entity.index].change(changed, unlessTaken: entity.name)
        }
        for join in model.joinTables {
            let name = SQLText.quoted(join.name)
            let owners = try snapshot.all("SELECT DISTINCT owner FROM \(name)") { $0.integer(0) }
            let table = JoinTableRows(join, connection: try snapshot.connection())
            try table.placedPairs(keys: owners, onOwnerSide: true, limit: nil) { pair, places in
                links[join.index][pair] = places
            }
        }
        for (name, identity, tombstone) in try snapshot.all(
            "SELECT entity, identity, version, time, saved FROM _tombstone", [],
            {
                let tombstone = Tombstone(version: $0.value(2), time: $0.value(3).integer)
                return ($0.text(0), $0.value(1), MemoryTombstone(tombstone: tombstone, saved: $0.integer(4)))
            })
        {
            if let entity = model.entity(named: name) {
                tombstones[entity.rootIndex][identity] = tombstone
            }
        }
        try readRecords(session)
        let sent = try snapshot.all("SELECT substr(key, 16), value FROM _metadata WHERE key LIKE 'sentDeadLetter:%'") {
            ($0.text(0), $0.value(1).text.flatMap { Int64($0) } ?? 0)
        }
        sentDeadLetters = Dictionary(uniqueKeysWithValues: sent)
    }

    /// Copies the history and the records beside the objects.
    mutating func readRecords(_ session: any SnapshotSession) throws {
        purgedToken = try session.purgedToken()
        try session.transactions(HistorySelection(), limit: .max).forEach { transactions.append($0) }
        try session.changes(HistorySelection(), limit: .max).forEach { changes.append($0) }
        try session.ranges(HistorySelection()) { range in
            ranges.append(range)
            return true
        }
        cursors = try session.cursors()
        positions = try session.positions()
        try session.deadLetters(DeadLetterSelection(), after: 0, limit: .max, valueLimit: nil)
            .forEach { deadLetters.append($0) }
        conflicts = try session.conflicts(after: 0, limit: .max)
    }
}

extension FetchedObject {
    /// All that a fetched object is, as values to compare.
    struct Parts: Equatable {
        let entity: String
        let pk: Int64
        let isPlaceholder: Bool
        let contents: [FetchedContent]
    }

    var parts: Parts { Parts(entity: entity.name, pk: pk, isPlaceholder: isPlaceholder, contents: contents) }
}
