import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// Drafts of writers that share a store: each thing that a commit compares, and a planted fault for each that is found.
@Suite struct SharedStoreFaultTests {
    private let model: ObjectModel

    init() throws { model = try configuredModel("chat") }

    private struct Pair {
        let shared: SharedStore
        let drafting: WriterContext
        let other: WriterContext

        init(_ model: ObjectModel, _ fault: SharingFaults) throws {
            shared = try SharedStore(model) { options in
                options.faults = fault
                options.lockTimeoutMilliseconds = 300
            }
            drafting = try shared.writer(shared.open())
            other = try shared.writer(shared.open())
        }

        func draft(_ operations: ObjectOperation...) throws {
            let events = operations.map { ChangeSet($0) }
            _ = try drafting.apply(WriterContext.Chunk(events: events, source: "draft"), mayConflict: true)
        }

        func commitOther(_ operations: ObjectOperation...) throws {
            _ = try other.apply(WriterContext.Chunk(events: operations.map { ChangeSet($0) }, source: "other"))
            try other.commit()
        }

        /// Commits the draft, and returns the code of what refuses it.
        func commitDraft() throws -> StoreError.Code? {
            do {
                try drafting.commit()
                return nil
            } catch {
                return error.code
            }
        }

        func value(_ entity: String, _ identity: String, _ property: String) throws -> Value? {
            try other.store.read { try $0.fetch(FetchRequest(entity)) }.first { $0["id"] == .text(identity) }?[property]
        }
    }

    private func message(_ id: String, chat: String, time: Int64? = nil) -> ObjectOperation {
        model.upsert("Message", .text(id), [("chat", .value(.text(chat)))], time: time)
    }

    private func chat(_ id: String, title: String, version: Int64) -> ObjectOperation {
        var operation = model.upsert("Chat", .text(id), [("title", .value(.text(title)))])
        operation.version = .integer(version)
        return operation
    }

    // MARK: Faults

    @Test(arguments: [
        SharingFaults.trustsTombstones, .trustsRows, .addsTwice, .skipsTokens, .takesNoLock, .ignoresPositions,
        .ignoresEpochs, .ignoresServers, .keepsKeys,
    ])
    func `a planted fault in the commit of drafts is found`(_ fault: SharingFaults) throws {
        let sound = try problem(fault, [])
        #expect(sound == nil)
        #expect(try problem(fault, fault) != nil)
    }

    /// Returns the damage that `fault` does with the planted faults, or nil where there is none.
    private func problem(_ fault: SharingFaults, _ planted: SharingFaults) throws -> String? {
        let pair = try Pair(model, planted)
        switch fault {
        case .trustsTombstones:
            // A chat that nobody has seen is deleted while the other one makes its placeholder.
            try pair.draft(message("m", chat: "a"))
            try pair.commitOther(model.delete("Chat", "a"))
            return try pair.commitDraft() == .conflict ? nil : "the deleted chat is back"
        case .trustsRows:
            try pair.commitOther(chat("a", title: "first", version: 1))
            try pair.draft(chat("a", title: "old", version: 2))
            try pair.commitOther(chat("a", title: "new", version: 3))
            return try pair.commitDraft() == .conflict ? nil : "the newer title is lost"
        case .addsTwice:
            try pair.commitOther(message("m1", chat: "a"))
            try pair.draft(message("m2", chat: "a"))
            try pair.commitOther(message("m3", chat: "a"))
            if let code = try pair.commitDraft() { return "refused: \(code)" }
            let count = try pair.value("Chat", "a", "messagesCount")
            return count == 3 ? nil : "the count is \(String(describing: count))"
        case .skipsTokens:
            for number in 0..<3 {
                try pair.draft(chat("c\(number)", title: "t", version: 1))
                if let code = try pair.commitDraft() { return "refused: \(code)" }
            }
            let tokens = try pair.other.store.read { try $0.history(after: 0) }.map(\.token)
            return tokens == [1, 2, 3] && pair.drafting.committedToken == 3 ? nil : "the tokens are \(tokens)"
        case .ignoresPositions, .ignoresEpochs, .ignoresServers: return try problemOfPlace(fault, pair)
        case .keepsKeys: return try problemOfKeys(pair)
        default:
            try pair.draft(chat("a", title: "draft", version: 1))
            // Another transaction is open, whose effect the comparison could not see.
            try pair.other.beginIfNeeded()
            return try pair.commitDraft() == .busy ? nil : "the draft went past an open transaction"
        }
    }

    /// A draft that is at the same place of a log as another writer's commit, or of a store that was taken over.
    private func problemOfPlace(_ fault: SharingFaults, _ pair: Pair) throws -> String? {
        func chunk(_ id: String) -> WriterContext.Chunk {
            SharedStore.chunk(SharedStore.Part(log: 0, range: 0..<1), [ChangeSet(chat(id, title: "t", version: 1))])
        }
        _ = try pair.drafting.apply(chunk("a"), mayConflict: true)
        if fault == .ignoresPositions {
            _ = try pair.other.apply(chunk("b"))
            try pair.other.commit()
            return try pair.commitDraft() == .positionConflict ? nil : "a record has had its effect twice"
        }
        if fault == .ignoresServers {
            // A pooler changes servers between the reads and the commit.
            let session = try #require(pair.drafting.session as? PostgresWriterSession)
            let draft = try #require(session.draft)
            (draft.found, session.comparedServer) = ((0, "another/1"), "another/1")
            return try pair.commitDraft() == .disconnected ? nil : "a draft is applied to a forked epoch"
        }
        _ = try pair.shared.server.query("UPDATE \(pair.shared.schema)._lease SET epoch = epoch + 1")
        return try pair.commitDraft() == .fenced ? nil : "a writer of the former epoch has written"
    }

    /// A writer whose reserved keys the server has forgotten, as a standby that lags does when it is promoted.
    private func problemOfKeys(_ pair: Pair) throws -> String? {
        try pair.draft(chat("a", title: "t", version: 1))
        if let code = try pair.commitDraft() { return "refused: \(code)" }
        let schema = pair.shared.schema
        _ = try pair.shared.server.query("UPDATE \(schema)._sequence SET next = 1")
        for writer in [pair.other, pair.drafting] { try pair.shared.endConnection(of: writer) }
        func retrying(_ body: () throws -> Void) throws {
            do { try body() } catch let error as StoreError where error.isRetriable { try body() }
        }
        try retrying { try pair.commitOther(chat("b", title: "t", version: 1)) }
        try retrying { try pair.draft(chat("c", title: "t", version: 1)) }
        return try pair.commitDraft().map { "a key was given out twice: \($0)" }
    }

    @Test func `a planted fault in the fence is found`() throws {
        for fault in [SharingFaults.ignoresFences, []] {
            for drafts in [true, false] {
                let pair = try Pair(model, fault)
                let partition = StorePartition(topic: "log", partition: 0)
                try pair.drafting.claimPartitions([partition])
                try pair.other.claimPartitions([partition])
                let chunk = SharedStore.chunk(
                    SharedStore.Part(log: 0, range: 0..<1), [ChangeSet(chat("a", title: "t", version: 1))])
                var code: StoreError.Code?
                do {
                    _ = try pair.drafting.apply(chunk, mayConflict: drafts)
                    try pair.drafting.commit()
                } catch {
                    code = error.code
                }
                #expect(code == (fault == [] ? .positionConflict : nil))
                #expect(try pair.value("Chat", "a", "title") == (fault == [] ? nil : "t"))
            }
        }
    }

    // MARK: What drafts do not get in the way of

    @Test func `rows are compared again only where somebody has committed since they were read`() throws {
        for commits in [false, true] {
            let pair = try Pair(model, [])
            try pair.commitOther(chat("a", title: "t", version: 1))
            try pair.draft(chat("a", title: "new", version: 2))
            // No writer changes a row without a token.
            _ = try pair.shared.server.query("UPDATE \(pair.shared.schema).\"Chat\" SET title = 'by hand'")
            if commits { try pair.commitOther(chat("b", title: "t", version: 1)) }
            #expect(try pair.commitDraft() == (commits ? .conflict : nil))
            #expect(try pair.value("Chat", "a", "title") == (commits ? "by hand" : "new"))
        }
    }

    @Test func `counts of a shared parent do not conflict`() throws {
        let pair = try Pair(model, [])
        try pair.commitOther(chat("a", title: "t", version: 1))
        for number in 0..<5 {
            try pair.draft(message("d\(number)", chat: "a"))
            try pair.commitOther(message("o\(number)", chat: "a"))
            #expect(try pair.commitDraft() == nil)
        }
        #expect(try pair.value("Chat", "a", "messagesCount") == 10)
        let names = try pair.other.store.read { try $0.history(after: 1) }.flatMap(\.changes).filter {
            $0.entity == "Chat"
        }
        #expect(names.count == 10 && names.allSatisfy { $0.properties == ["messagesCount"] })
    }

    @Test(arguments: [
        ("1.5", "0.5", "2"), ("-0.25", "0.25", "0"), ("1000000000000000000000000000000000000", "0.5", nil),
    ])
    func `decimals of a shared parent are added, and with the lock where they get too long`(
        _ first: String, _ second: String, _ total: String?
    ) throws {
        let model = try ObjectModel.parse(ManyWritersTests.ledger)
        func entry(_ id: String, _ amount: String) -> ObjectOperation {
            model.upsert("Entry", .text(id), [("amount", .value(.text(amount))), ("account", .value("a"))])
        }
        let pair = try Pair(model, [])
        try pair.commitOther(model.upsert("Account", "a", []))
        try pair.draft(entry("1", first))
        try pair.commitOther(entry("2", second))
        #expect(try pair.commitDraft() == (total == nil ? .conflict : nil))
        #expect(try pair.value("Account", "a", "total") == .text(total ?? second))
        if total == nil {
            try pair.draft(entry("1", first))
            #expect(try pair.commitDraft() == nil)
            #expect(try pair.value("Account", "a", "total") == .text("\(first).5"))
        }
    }

    @Test func `a child that comes meanwhile, a unique value and a sum at its bound conflict`() throws {
        let yaml = """
            model: bounded
            entities:
              Box:
                identity: id
                attributes:
                  id: { type: string }
                  name: { type: string, optional: true, unique: true }
                  weight: { type: integer16, derived: items.@sum.weight }
                relationships:
                  items: { to: Item, many: true, inverse: box, delete: cascade }
              Item:
                identity: id
                attributes:
                  id: { type: string }
                  weight: { type: integer16, default: 0 }
                relationships:
                  box: { to: Box, inverse: items, delete: nullify, optional: true }
            """
        let model = try ObjectModel.parse(yaml)
        func item(_ id: String, _ weight: Int64) -> ObjectOperation {
            model.upsert("Item", .text(id), [("weight", .value(.integer(weight))), ("box", .value("b"))])
        }
        let children = try Pair(model, [])
        try children.commitOther(item("i1", 1))
        try children.draft(model.delete("Box", "b"))
        try children.commitOther(item("i2", 1))
        #expect(try children.commitDraft() == .conflict)
        let names = try Pair(model, [])
        try names.draft(model.upsert("Box", "a", [("name", .value("n"))]))
        try names.commitOther(model.upsert("Box", "b", [("name", .value("n"))]))
        #expect(try names.commitDraft() == .conflict)
        // Both sums stay below the bound alone; together they reach it.
        let sums = try Pair(model, [])
        try sums.commitOther(item("i1", 20_000))
        try sums.draft(item("i2", 7_000))
        try sums.commitOther(item("i3", 8_000))
        #expect(try sums.commitDraft() == .conflict)
        #expect(try sums.value("Box", "b", "weight") == 28_000)
        // With the lock the sum stays at the bound, and items that go bring the true one back.
        try sums.commitOther(item("i2", 7_000))
        #expect(try sums.value("Box", "b", "weight") == 32_767)
        try sums.draft(item("i1", 19_999))
        #expect(try sums.commitDraft() == .conflict || sums.value("Box", "b", "weight") == 32_767)
    }

    @Test func `drafts add to counts and exact sums only, and compare what anything reads`() throws {
        let model = try ObjectModel.parse(
            """
            model: uses
            entities:
              Box:
                identity: id
                attributes:
                  id: { type: string }
                  size: { type: integer64, derived: items.@count }
                  weight: { type: integer32, derived: items.@sum.weight }
                  price: { type: decimal, derived: items.@sum.price }
                  heaviest: { type: integer32, optional: true, derived: items.@max.weight }
                  read: { type: integer64, derived: items.@count }
                  twice: { type: integer64, derived: read * 2 }
                  kept: { type: integer64, derived: items.@count, preserveAfterDeletion: true }
                  changed: { type: date, derived: now() }
                relationships:
                  items: { to: Item, many: true, inverse: box, delete: cascade }
              Item:
                identity: id
                attributes:
                  id: { type: string }
                  weight: { type: integer32, default: 0 }
                  price: { type: decimal, default: 0 }
                relationships:
                  box: { to: Box, inverse: items, delete: nullify, optional: true }
            """)
        let columns = SharedColumns(model)
        let box = try #require(model.entity(named: "Box"))
        func names(_ slots: [Set<Int>]) -> Set<String> { Set(slots[box.index].map { box.slotNames[$0] }) }
        #expect(names(columns.added) == ["size", "weight", "price"])
        #expect(names(columns.unread) == ["changed"])
    }

    // MARK: Attempts

    @Test func `a chunk that a draft cannot save takes the lock at once`() {
        var attempts = CommitAttempts()
        attempts.lost(toAnother: false)
        #expect(!attempts.drafts)
        attempts.committed(isDraft: false)
        #expect(attempts.drafts)
    }

    @Test func `a chunk that was lost twice takes the lock, and losses in a row make the runs longer`() {
        var attempts = CommitAttempts()
        attempts.lost(toAnother: true)
        var runs: [Int] = []
        for _ in 0..<8 {
            #expect(attempts.drafts)
            attempts.lost(toAnother: true)
            var run = 0
            while !attempts.drafts {
                attempts.committed(isDraft: false)
                run += 1
            }
            runs.append(run)
        }
        #expect(runs == [1, 2, 4, 8, 16, 32, 32, 32])
        for _ in 0..<5 { attempts.committed(isDraft: true) }
        // After calm, a chunk that another writer got in the way of is drafted again.
        attempts.lost(toAnother: true)
        #expect(attempts.drafts)
        attempts.committed(isDraft: true)
        attempts.lost(toAnother: true)
        #expect(attempts.drafts)
        attempts.lost(toAnother: true)
        #expect(!attempts.drafts)
        attempts.committed(isDraft: false)
        #expect(attempts.drafts)
    }
}
