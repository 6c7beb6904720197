import ObjectGraph
import Testing

@testable import GraphCore
@testable import MemoryStorage
@testable import SQLiteStorage

/// The contract of a writer's session, on every storage.
@Suite struct WriterSessionTests {
    /// A storage with the sessions of its writers.
    private struct Fixture {
        let model: ObjectModel
        let store: Store

        init(_ storage: TestStorage) throws {
            model = try ObjectModel.parse(
                """
                model: test
                entities:
                  Person:
                    identity: id
                    attributes:
                      id: { type: string }
                      mail: { type: string, optional: true, unique: true }
                  Guest:
                    parent: Person
                    attributes:
                      badge: { type: string, optional: true, unique: true }
                  Member:
                    parent: Person
                    attributes:
                      club: { type: string, optional: true }
                """)
            store = try storage.store(model)
        }

        func session() throws -> any WriterSession { try store.storage.makeWriterSession() }

        /// Calls `body` where sessions may be used.
        func access(_ body: () throws -> Void) throws {
            if let sqlite = try? store.sqlite() { try sqlite.onWriter { _ in try body() } } else { try body() }
        }

        func lines() throws -> [String] { try store.tables().lines(model) }

        /// A new row with the values of some attributes.
        func insertion(_ key: Int64, _ entity: String, _ values: [String: Value]) throws -> RowChanges {
            let entity = try #require(model.entity(named: entity))
            var row = [Value](repeating: .null, count: entity.slotCount)
            for (name, value) in values { row[try #require(entity.attribute(named: name)).slot] = value }
            let object = ContextObject(entity: entity, pk: key, values: row)
            var changes = RowChanges(entityCount: model.entities.count)
            changes.insert(object)
            return changes
        }
    }

    private func code(_ body: () throws -> Void) -> StoreError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }

    @Test(arguments: TestStorage.allCases)
    func `a claim holds until it expires, and fences the writer before`(_ storage: TestStorage) throws {
        let fixture = try Fixture(storage)
        try fixture.access {
            let (first, second) = (try fixture.session(), try fixture.session())
            _ = try first.claim(ttlSeconds: 10, now: 1_000_000)
            #expect(code { _ = try second.claim(ttlSeconds: 10, now: 2_000_000) } == .leased)
            try first.begin()
            try first.renewClaim(now: 8_000_000)
            try first.commit()
            #expect(code { _ = try second.claim(ttlSeconds: 10, now: 12_000_000) } == .leased)
            _ = try second.claim(ttlSeconds: 10, now: 18_000_000)
            let refusal = code {
                try first.begin()
                // A storage over a network asks with the first question.
                _ = try first.counters()
            }
            #expect(refusal == .fenced)
            try first.rollback()
            try second.begin()
            #expect(code { _ = try fixture.session() } == .leased)
            try second.releaseClaim()
            try second.commit()
            _ = try first.claim(ttlSeconds: 10, now: 19_000_000)
        }
    }

    @Test(arguments: TestStorage.allCases)
    func `a row that breaks a rule of the schema is refused`(_ storage: TestStorage) throws {
        let fixture = try Fixture(storage)
        try fixture.access {
            let session = try fixture.session()
            try session.begin()
            try session.write(try fixture.insertion(1, "Guest", ["id": "a", "mail": "m", "badge": "b"]))
            for (key, entity, values): (Int64, String, [String: Value]) in [
                (1, "Guest", ["id": "c"]), (2, "Member", ["id": "a"]), (3, "Member", ["id": "c", "mail": "m"]),
                (4, "Guest", ["id": "c", "badge": "b"]),
            ] {
                let refusal = code {
                    try session.undoingOnFailure { try session.write(try fixture.insertion(key, entity, values)) }
                }
                #expect(refusal == .constraint, "\(values)")
            }
            try session.write(try fixture.insertion(5, "Member", ["id": "c"]))
            try session.write(try fixture.insertion(6, "Guest", ["id": "d"]))
            var tombstones = TombstoneChanges()
            tombstones.written = [(fixture.model.entities[0], .null, Tombstone(version: .null, time: 1))]
            #expect(code { try session.write(tombstones) } == .constraint)
            try session.commit()
        }
        #expect(try fixture.lines().map { $0.prefix(8) } == ["Person 1", "Person 5", "Person 6"])
    }

    @Test(arguments: TestStorage.allCases, [true, false])
    func `what an undone transaction or part has removed is found again`(_ storage: TestStorage, isPart: Bool) throws {
        struct Failure: Error {}
        let fixture = try Fixture(storage)
        let person = fixture.model.entities[0]
        func foundCount(_ session: any WriterSession) throws -> Int {
            var count = 0
            let arena = ValueArena()
            try session.load(
                [
                    .rows(entity: person.index, .identities([arena.pack(.text("a"))])),
                    .tombstones([(root: person.rootIndex, identities: [arena.pack(.text("b"))])]),
                ], in: arena
            ) { _, _ in count += 1 }
            return count
        }
        func remove(_ session: any WriterSession) throws {
            var (deletion, tombstones) = (RowChanges(entityCount: fixture.model.entities.count), TombstoneChanges())
            deletion.deletedKeys = [person.rootIndex: [1]]
            tombstones.removed = [(person, .text("b"))]
            try session.write(deletion)
            try session.write(tombstones)
            #expect(try foundCount(session) == 0)
            throw Failure()
        }
        try fixture.access {
            let session = try fixture.session()
            _ = try session.claim(ttlSeconds: 10, now: 1_000_000)
            var tombstones = TombstoneChanges()
            tombstones.written = [(person, .text("b"), Tombstone(version: .null, time: 1))]
            try session.begin()
            try session.write(try fixture.insertion(1, "Person", ["id": "a"]))
            try session.write(tombstones)
            try session.commit()
            try session.begin()
            #expect(throws: Failure.self) {
                if isPart { try session.undoingOnFailure { try remove(session) } } else { try remove(session) }
            }
            if !isPart {
                try session.rollback()
                try session.begin()
            }
            #expect(try foundCount(session) == 2)
            try session.commit()
        }
    }

    @Test(arguments: TestStorage.allCases)
    func `a part that fails leaves nothing, at any depth`(_ storage: TestStorage) throws {
        struct Failure: Error {}
        let fixture = try Fixture(storage)
        try fixture.access {
            let session = try fixture.session()
            try session.begin()
            try session.undoingOnFailure {
                try session.write(try fixture.insertion(1, "Person", ["id": "a"]))
                #expect(throws: Failure.self) {
                    try session.undoingOnFailure {
                        try session.undoingOnFailure {
                            try session.write(try fixture.insertion(2, "Person", ["id": "b"]))
                            try session.write(nextKeys: [(0, 9)])
                        }
                        _ = try session.openHistory(
                            HistoryHeader(time: 1, author: "a", context: nil, source: nil, firstChange: 1))
                        throw Failure()
                    }
                }
            }
            #expect(try session.counters().nextKeys == [2, 2, 2])
            try session.commit()
            try session.begin()
            try session.write(try fixture.insertion(3, "Person", ["id": "c"]))
            try session.rollback()
            #expect(!session.isInTransaction)
        }
        #expect(try fixture.lines().map { $0.prefix(8) } == ["Person 1"])
    }

    @Test(arguments: TestStorage.allCases)
    func `work in the store reports its progress until the session is closed`(_ storage: TestStorage) throws {
        let fixture = try Fixture(storage)
        try fixture.access {
            let session = try fixture.session()
            var count = 0
            session.onProgress = { count += 1 }
            func work(_ key: Int64) throws {
                try session.begin()
                try session.write(try fixture.insertion(key, "Person", ["id": .text("\(key)")]))
                // SQLite reports the progress of long statements only.
                let counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000)"
                _ = try (session as? SQLiteWriterSession)?.integer("\(counting) SELECT sum(i) FROM n")
                try session.commit()
            }
            try work(1)
            let reported = count
            #expect(reported > 0)
            try work(2)
            #expect(count > reported)
            guard let session = session as? SQLiteWriterSession else { return }
            session.close()
            let last = count
            try work(3)
            #expect(count == last)
        }
    }

    @Test(arguments: TestStorage.allCases)
    func `tokens grow past transactions without changes`(_ storage: TestStorage) throws {
        let fixture = try Fixture(storage)
        try fixture.access {
            let session = try fixture.session()
            var tokens: [Int64] = []
            for count: Int64 in [0, 2, 0, 1] {
                try session.begin()
                let token = try session.openHistory(
                    HistoryHeader(time: 1, author: "a", context: nil, source: nil, firstChange: 1))
                try session.closeHistory(token: token, changeCount: count)
                try session.commit()
                tokens.append(token)
            }
            #expect(tokens == [1, 2, 3, 4])
        }
        #expect(try fixture.lines().count == 2)
    }

    @Test(arguments: TestStorage.allCases)
    func `a transaction keeps its source and the trace of its record`(_ storage: TestStorage) throws {
        let fixture = try Fixture(storage)
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        try fixture.access {
            let session = try fixture.session()
            for (number, kept) in [(1, trace), (2, nil)] as [(Int64, String?)] {
                try session.begin()
                let token = try session.openHistory(
                    HistoryHeader(
                        time: 1, author: "a", context: nil, source: "t/0@\(number)", trace: kept, firstChange: number))
                try session.closeHistory(token: token, changeCount: 1)
                try session.commit()
            }
        }
        let found = try fixture.store.storage.read(nil) { session, _ in
            try session.transactions(HistorySelection(), limit: 10)
        }
        #expect(found.map(\.source) == ["t/0@1", "t/0@2"])
        #expect(found.map(\.trace) == [trace, nil])
    }

    @Test(arguments: [TestStorage.memory, .postgres])
    func `a closed storage refuses each call`(_ storage: TestStorage) throws {
        let fixture = try Fixture(storage)
        let (session, closed) = (try fixture.session(), fixture.store.storage)
        try closed.close()
        #expect(code { try session.begin() } == .unavailable)
        #expect(code { _ = try closed.makeWriterSession() } == .unavailable)
        #expect(code { try closed.read(nil) { session, _ in _ = try session.storeID() } } == .unavailable)
        if storage == .memory {
            #expect(code { try closed.makeRowReader().load([], in: ValueArena()) { _, _ in } } == .unavailable)
        }
    }

    @Test(arguments: TestStorage.allCases)
    func `audit entries come the last first, or by key, and their result is replaced`(_ storage: TestStorage) throws {
        let fixture = try Fixture(storage)
        let writer = try WriterContext(store: fixture.store)
        let entries = (1...3).map { number in
            AuditEntry(
                time: Int64(number), actor: "user \(number)", action: "verify", request: "{}",
                idempotencyKey: number == 1 ? nil : "key \(number)")
        }
        let ids = try writer.inOneCommit { try entries.map { try writer.put($0) } }
        #expect(ids == [1, 2, 3])
        var second = entries[1]
        (second.id, second.result) = (2, "done")
        let replaced = try writer.inOneCommit { try writer.put(second) }
        #expect(replaced == 2)
        let (all, page, found, missing) = try fixture.store.read { context in
            (
                try context.auditEntries(), try context.auditEntries(before: 3, limit: 1),
                try context.auditEntry(key: "key 2"), try context.auditEntry(key: "key 1")
            )
        }
        #expect(all.map(\.id) == [3, 2, 1] && all.map(\.result) == [nil, "done", nil])
        #expect(page == [second] && found == second && missing == nil)
        // A key stands for one request.
        #expect(code { _ = try writer.inOneCommit { try writer.put(entries[2]) } } != nil || storage == .memory)
    }

    @Test(arguments: TestStorage.allCases)
    func `several commits become one, and a failure undoes them all`(_ storage: TestStorage) throws {
        struct Fault: Error {}
        let fixture = try Fixture(storage)
        let writer = try WriterContext(store: fixture.store)
        func cursors() throws -> [String] { try fixture.store.read { try $0.cursors() }.keys.sorted() }
        try writer.inOneCommit {
            try writer.putCursors(["a": 0])
            try writer.commit()
            #expect(try cursors().isEmpty)
        }
        #expect(try cursors() == ["a"])
        #expect(throws: Fault.self) {
            try writer.inOneCommit {
                try writer.putCursors(["b": 0])
                try writer.commit()
                throw Fault()
            }
        }
        try writer.commit()
        #expect(try cursors() == ["a"])
    }
}
