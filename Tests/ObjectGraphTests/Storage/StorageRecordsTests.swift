import MemoryStorage
import ObjectGraph
import Testing

@testable import GraphCore

/// Positions and dead letters, on every storage.
@Suite struct StorageRecordsTests {
    private let graph: Graph

    init() throws {
        graph = try Graph(configuredModel("chat"))
        let letters = [
            Self.letter(10, "b", 1, 5, "apply.missing", "Message.body has no value", bytes: 4),
            Self.letter(20, "a", 2, 9, "decode.json", "The record is no JSON", bytes: 3),
            Self.letter(30, "a", 2, 7, "decode.json", "THE RECORD is no JSON", bytes: 2),
            Self.letter(40, "a", 1, 8, "apply.missing", "The Message has no chat", bytes: nil),
        ]
        let positions = [
            SourcePosition(topic: "t", partition: 1, nextOffset: 8, detail: "d"),
            SourcePosition(topic: "a", partition: 0, nextOffset: 3),
        ]
        let chunk = WriterContext.Chunk(
            events: [graph.upsert("Chat", "c")], positions: positions, deadLetters: letters)
        _ = try graph.writer.apply(chunk)
        try graph.writer.putSentDeadLetter(2, topic: "dead")
        try graph.writer.commit()
    }

    private static func letter(
        _ time: Int64, _ topic: String, _ partition: Int32, _ offset: Int64, _ code: String, _ reason: String,
        bytes: Int?
    ) -> DeadLetter {
        DeadLetter(
            time: time, topic: topic, partition: partition, offset: offset, stage: String(code.prefix { $0 != "." }),
            code: code, reason: reason, key: [1], value: bytes.map { [UInt8](repeating: 7, count: $0) },
            valueBytes: bytes ?? 0, headers: "[]", timestampMilliseconds: time == 10 ? nil : time + 1)
    }

    @Test(arguments: TestStorage.allCases) func `the oldest audit entries are removed`(_ storage: TestStorage) throws {
        let writer = try WriterContext(store: storage.store(configuredModel("chat")))
        for time in [10, 20, 30, 40] as [Int64] {
            _ = try writer.put(AuditEntry(time: time, actor: "a", action: "verify", request: "{}"))
        }
        try writer.commit()
        func times() throws -> [Int64] { try writer.store.read { try $0.auditEntries() }.map(\.time) }
        #expect(try writer.purgeAudit(before: 35, limit: 2) == 2)
        #expect(try times() == [40, 30])
        let (old, all) = try writer.store.read { (try $0.auditCount(before: 40), try $0.auditCount(before: .max)) }
        #expect(old == 1 && all == 2)
        #expect(try writer.purgeAudit(before: 35) == 1 && writer.purgeAudit(before: 35) == 0)
        #expect(try times() == [40])
        try writer.close()
    }

    @Test(arguments: TestStorage.allCases) func `a note stays until another takes its place`(_ storage: TestStorage)
        throws
    {
        let writer = try WriterContext(store: storage.store(configuredModel("chat")))
        func note() throws -> String? { try writer.store.read { try $0.note("a note") } }
        #expect(try note() == nil)
        for text in ["first", "second é"] {
            try writer.putNote("a note", text)
            try writer.commit()
            #expect(try note() == text)
        }
        try writer.putNote("a note", "lost")
        try writer.rollback()
        #expect(try note() == "second é")
        try writer.close()
    }

    private static let selections:
        [(name: String, change: @Sendable (inout DeadLetterSelection) -> Void, ids: [Int64])] =
            [
                ("all", { _ in }, [1, 2, 3, 4]), ("ids", { $0.ids = [4, 2, 9] }, [2, 4]),
                ("no ids", { $0.ids = [] }, []),
                ("topic", { $0.topic = "a" }, [2, 3, 4]), ("partition", { $0.partition = 1 }, [1, 4]),
                ("stage", { $0.stage = "decode" }, [2, 3]), ("code", { $0.code = "apply.missing" }, [1, 4]),
                ("time", { ($0.since, $0.before) = (20, 40) }, [2, 3]),
                ("reason", { $0.reason = "the record" }, [2, 3]),
                ("part", { $0.reason = "HAS NO" }, [1, 4]), ("empty part", { $0.reason = "" }, [1, 2, 3, 4]),
                ("several", { ($0.topic, $0.partition, $0.code) = ("a", 2, "decode.json") }, [2, 3]),
            ]

    @Test(arguments: selections.indices, TestStorage.allCases)
    func `a selection means the same letters in every form`(_ index: Int, _ storage: TestStorage) throws {
        let (name, change, ids) = Self.selections[index]
        var selection = DeadLetterSelection()
        change(&selection)
        let (letters, page, count, byPlace) = try graph.store.read(from: storage) { [selection] context in
            (
                try context.deadLetters(selection), try context.deadLetters(selection, after: 1, limit: 1),
                try context.deadLetterCount(selection), try context.deadLetterIDs(selection).map(\.id)
            )
        }
        #expect(letters.map(\.id) == ids, "\(name)")
        #expect(page.map(\.id) == Array(ids.filter { $0 > 1 }.prefix(1)), "\(name)")
        #expect(count == ids.count, "\(name)")
        #expect(byPlace == [4, 3, 2, 1].filter(ids.contains), "\(name)")
    }

    @Test(arguments: TestStorage.allCases) func `letters come whole, by number and by size`(_ storage: TestStorage)
        throws
    {
        try graph.store.read(from: storage) { context in
            let letter = try #require(try context.deadLetter(2))
            #expect(letter.time == 20 && letter.topic == "a" && letter.partition == 2 && letter.offset == 9)
            #expect(letter.stage == "decode" && letter.code == "decode.json" && letter.line == nil)
            #expect(letter.reason == "The record is no JSON" && letter.key == [1] && letter.value == [7, 7, 7])
            #expect(letter.valueBytes == 3 && letter.headers == "[]" && letter.attempts == 1)
            let first = try context.deadLetter(1)
            #expect(letter.timestampMilliseconds == 21 && first?.timestampMilliseconds == nil)
            for id in [0, 5, Int64.min, .max] {
                let none = try context.deadLetter(id)
                #expect(none == nil)
            }
            let fitting = try [1, 4, 7, 9].map { bytes in
                try context.deadLetters(after: 0, limit: 100, maximumBytes: bytes).map(\.id)
            }
            #expect(fitting == [[1], [1], [1, 2], [1, 2, 3, 4]])
            let limited = try context.deadLetters(after: 1, limit: 2, maximumBytes: 100).map(\.id)
            #expect(limited == [2, 3])
            let (last, after) = (try context.lastDeadLetterID(), try context.deadLetterCount(after: 3))
            #expect(last == 4 && after == 1)
            let (sent, other) = (try context.sentDeadLetter(topic: "dead"), try context.sentDeadLetter(topic: "x"))
            #expect(sent == 2 && other == 0)
        }
    }

    @Test(arguments: TestStorage.allCases) func `previews have the first bytes, without key and headers`(
        _ storage: TestStorage
    ) throws {
        let previews = try graph.store.read(from: storage) {
            try $0.deadLetterPreviews(DeadLetterSelection(), after: 1, limit: 1, valueLimit: 2)
        }
        let preview = try #require(previews.first)
        #expect(previews.count == 1 && preview.id == 2 && preview.reason == "The record is no JSON")
        #expect(preview.value == [7, 7] && preview.valueBytes == 3 && preview.key == nil && preview.headers == nil)
        #expect(preview.timestampMilliseconds == 21)
    }

    @Test(arguments: TestStorage.allCases) func `groups share code, topic and entity`(_ storage: TestStorage) throws {
        let groups = try graph.store.read(from: storage) { try $0.deadLetterGroups() }
        let lines = groups.map {
            "\($0.code) \($0.topic) \($0.entity ?? "-") \($0.count) \($0.firstTime) \($0.lastTime)"
        }
        #expect(
            lines == [
                "decode.json a - 2 20 30", "apply.missing a Message 1 40 40", "apply.missing b Message 1 10 10",
            ])
        let wider = try graph.store.read(from: storage) { try $0.deadLetterGroups(byEntity: false) }
        #expect(wider.allSatisfy { $0.entity == nil } && wider.map(\.count) == groups.map(\.count))
    }

    @Test(arguments: TestStorage.allCases) func `positions come by topic and partition`(_ storage: TestStorage) throws {
        let positions = try graph.store.read(from: storage) { try $0.positions() }
        let lines = positions.map { "\($0.topic) \($0.partition) \($0.nextOffset) \($0.detail ?? "-")" }
        #expect(lines == ["a 0 3 -", "t 1 8 d"])
    }

    @Test func `a store in memory has no plans, and says so`() throws {
        let tables = Store.inMemoryTables(model: graph.store.model)
        let error = #expect(throws: StoreError.self) {
            try tables.read { try $0.explain(FetchRequest("Chat")) }
        }
        #expect(error?.code == .unavailable)
    }
}
