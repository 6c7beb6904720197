import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import GraphCore

/// Reads that end early, on the storages whose reads can take long.
@Suite(.timeLimit(.minutes(2))) struct ReadInterruptionTests {
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
}
