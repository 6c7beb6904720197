import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import GraphCore

/// Reads that end early, on the storages whose reads can take long.
@Suite(.timeLimit(.minutes(60))) struct ReadInterruptionTests {
    /// For each of so many objects the condition looks at all triples of them, which takes hours.
    private static let count = 500
    private static let endless = """
        SUBQUERY(parent.children, $a, SUBQUERY($a.parent.children, $b, \
        ANY $b.parent.children.name = 'nobody').@count > 0).@count > 0
        """
    private static let storages = [TestStorage.sqlite, .postgres]

    private static func graph(_ storage: TestStorage) throws -> Graph {
        let graph = try Graph(ObjectModel.parse(RandomPredicates.model), storage: storage)
        try graph.apply(graph.upsert("Item", "root", [:]))
        _ = try graph.apply((0..<count).map { graph.upsert("Item", .text("i\($0)"), ["parent": "root"]) })
        return graph
    }

    private static func endlessRequest(_ model: ObjectModel) throws -> CheckedFetchRequest {
        try FetchRequest("Item", where: endless).checked(with: model)
    }

    /// The same connection serves others afterwards, and no statement of theirs is ended.
    private static func expectReads(_ store: Store) throws {
        for _ in 0..<10 {
            #expect(try store.read { try $0.count(FetchRequest("Item")) } == count + 1)
        }
    }

    @Test(arguments: storages) func `a read ends at its time limit, and names the remedy`(_ storage: TestStorage)
        async throws
    {
        let store = try Self.graph(storage).store
        let request = try Self.endlessRequest(store.model)
        let failure = await #expect(throws: StoreError.self) {
            _ = try await store.reading(withinSeconds: 0.2) { try $0.fetch(request).count }
        }
        #expect(failure?.code == .timeLimit && failure?.message.contains("more than 1 s") == true)
        #expect(failure?.remedy.contains("index") == true)
        try Self.expectReads(store)
    }

    @Test(arguments: storages) func `a cancelled task ends its read`(_ storage: TestStorage) async throws {
        let store = try Self.graph(storage).store
        let request = try Self.endlessRequest(store.model)
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await store.reading { context in
                continuation.yield()
                return try context.fetch(request).count
            }
        }
        for await _ in begun { break }
        task.cancel()
        #expect(try await task.value == nil)
        try Self.expectReads(store)
    }

    @Test(arguments: storages) func `a read that is cancelled before its turn never begins`(
        _ storage: TestStorage
    ) async throws {
        let store = try Self.graph(storage).store
        let turn = Mutex<(@Sendable () -> Void)?>(nil)
        let task = Task {
            try await store.reading(schedule: { work in turn.withLock { $0 = work } }) { _ in
                Issue.record("the read begins")
            }
        }
        while turn.withLock({ $0 == nil }) { await Task.yield() }
        task.cancel()
        turn.withLock { $0 }?()
        #expect(try await task.value == nil)
        try Self.expectReads(store)
    }

    /// A timer's thread may not come while all are busy with reads.
    @Test func `more reads than there are processors end at their limit`() async throws {
        let store = try Self.graph(.sqlite).store
        let request = try Self.endlessRequest(store.model)
        let reads = Store.Options().maximumReaderCount
        await withTaskGroup(of: StoreError.Code?.self) { group in
            for _ in 0..<reads {
                group.addTask {
                    do {
                        _ = try await store.reading(withinSeconds: 0.2) { try $0.fetch(request).count }
                        return nil
                    } catch {
                        return (error as? StoreError)?.code
                    }
                }
            }
            for await code in group { #expect(code == .timeLimit) }
        }
        try Self.expectReads(store)
    }

    /// As a sort or a function of a long text, which a database does not end.
    @Test(arguments: [true, false]) func `a read in a step without an end answers all the same`(isCancelled: Bool)
        async throws
    {
        let store = try Self.graph(.sqlite).store
        let end = DispatchSemaphore(value: 0)
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await store.reading(withinSeconds: isCancelled ? 3600 : 0.1) { _ in
                continuation.yield()
                end.wait()
            }
        }
        for await _ in begun { break }
        if isCancelled { task.cancel() }
        switch await task.result {
        case .success(let answer): #expect(isCancelled && answer == nil)
        case .failure(let error): #expect(!isCancelled && (error as? StoreError)?.code == .timeLimit)
        }
        end.signal()
        try Self.expectReads(store)
    }

    @Test func `a long text ends no read with a wrong answer`() async throws {
        let graph = try Self.graph(.sqlite)
        let long = String(repeating: "a", count: 300_000)
        try graph.apply(graph.upsert("Item", "long", ["name": .value(.text(long))]))
        let part = String(repeating: "a", count: 50_000) + "b"
        for condition in ["name CONTAINS '\(part)'", "name LIKE '*aab'", "name LIKE 'b*'", "name MATCHES '(a|a)*b'"] {
            let request = FetchRequest("Item", where: condition)
            #expect(try graph.store.read { try $0.count(request) } == 0)
        }
        for condition in ["name CONTAINS 'aaa'", "name LIKE 'aa*a'", "name MATCHES '(a|a)*'"] {
            let request = FetchRequest("Item", where: condition)
            #expect(try graph.store.read { try $0.count(request) } == 1)
        }
    }
}
