import Foundation
import GRDB
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

@Suite final class StoreSwapTests {
    private let folder: URL
    private let path: String
    private let oldIdentity: String
    private let newIdentity: String

    private static let model: ObjectModel = {
        // swift-format-ignore: NeverUseForceTry
        return try! ObjectModel.parse(Models.people)
    }()

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "swap-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "store.sqlite").path
        oldIdentity = try Self.make(path, replaces: nil)
        newIdentity = try Self.make(StoreSwap(path: path).rebuilt, replaces: oldIdentity)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static func make(_ path: String, replaces: String?) throws -> String {
        var options = Store.Options()
        options.replaces = replaces
        let store = try Store.open(path: path, model: Self.model, options: options)
        let identity = try store.identity()
        try store.close()
        // A reader that is closed after the writer leaves something in the log.
        let closed = try RetiringStore(path: path, model: Self.model)
        #expect(try closed.carryLogOver())
        try closed.close()
        return identity
    }

    private func swap(exchanges: Bool = true) -> StoreSwap {
        var swap = StoreSwap(path: path)
        swap.exchanges = exchanges
        swap.closedSeconds = 0
        return swap
    }

    private func expectSwapped(_ swap: StoreSwap) throws {
        #expect(try StoreDescription.read(path: path)?.identity == newIdentity)
        #expect(try StoreDescription.read(path: path)?.replaces == oldIdentity)
        // Whoever completes a swap keeps the old store closed for some seconds.
        let kept = (0..<4).lazy.compactMap { _ in try? StoreDescription.read(path: swap.kept) }.first
        #expect(kept?.identity == oldIdentity)
        #expect(!FileManager.default.fileExists(atPath: swap.rebuilt))
        #expect(!FileManager.default.fileExists(atPath: swap.record))
    }

    @Test(arguments: [true, false]) func `a swap puts the new store in the old one's place`(exchanges: Bool) throws {
        let swap = swap(exchanges: exchanges)
        var steps: [StoreSwap.Step] = []
        try swap.perform { steps.append($0) }
        try expectSwapped(swap)
        #expect(
            steps
                == (exchanges
                    ? [.begun, .detached, .exchanged, .kept] : [.begun, .detached, .parted, .exchanged, .kept]))
    }

    @Test func `a volume that comes back as another device is no hindrance`() throws {
        let swap = swap()
        #expect(throws: StoreError.self) {
            try swap.perform { (done: StoreSwap.Step) throws(StoreError) in
                if done == .detached { throw StoreError(.busy, "the machine ended", remedy: "") }
            }
        }
        let record = try String(contentsOfFile: swap.record, encoding: .utf8)
        let number = try #require(record.split(separator: " ").last)
        try "4242 \(number)".write(toFile: swap.record, atomically: false, encoding: .utf8)
        try swap.completeIfInterrupted()
        try expectSwapped(swap)
    }

    @Test func `a lease that somebody has taken since ends the exchange`() throws {
        let old = try RetiringStore(path: path, model: Self.model)
        _ = try old.takeLease()
        try old.renewLease()
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: "UPDATE _lease SET epoch = epoch + 1") }
        try queue.close()
        #expect(throws: StoreError.self) { try old.renewLease() }
        try old.close()
    }

    @Test(arguments: StoreSwap.Step.allCases, [true, false])
    func `interrupted anywhere it is completed by whoever opens the store to write`(
        step: StoreSwap.Step, exchanges: Bool
    ) throws {
        let swap = swap(exchanges: exchanges)
        if step == .parted, exchanges { return }
        let error = #expect(throws: StoreError.self) {
            try swap.perform { (done: StoreSwap.Step) throws(StoreError) in
                if done == step { throw StoreError(.busy, "the process ended", remedy: "") }
            }
        }
        #expect(error?.code == .busy)
        #expect(FileManager.default.fileExists(atPath: swap.record))
        let store = try Store.open(path: path, model: Self.model)
        #expect(try store.identity() == newIdentity)
        try store.close()
        try expectSwapped(swap)
        // Nothing is left to be done.
        try swap.completeIfInterrupted()
        try expectSwapped(swap)
    }

    /// Without waiting the two would exchange the names twice, and so not at all.
    @Test func `opening a store waits for a swap under way`() throws {
        let swap = swap()
        let done = DispatchSemaphore(value: 0)
        try swap.perform { step in
            if step != .begun { return }
            Thread.detachNewThread { [path] in
                try? StoreSwap(path: path).completeIfInterrupted()
                done.signal()
            }
            usleep(100_000)
        }
        #expect(done.wait(timeout: .now() + 30) == .success)
        try expectSwapped(swap)
    }

    @Test func `an earlier kept store gives way`() throws {
        let swap = swap()
        _ = try Self.make(swap.kept, replaces: nil)
        try swap.perform()
        try expectSwapped(swap)
    }

    @Test func `files that were moved by hand are not guessed at`() throws {
        let swap = swap()
        _ = try? swap.perform { (_: StoreSwap.Step) throws(StoreError) in
            throw StoreError(.busy, "the process ended", remedy: "")
        }
        try FileManager.default.moveItem(atPath: swap.rebuilt, toPath: swap.rebuilt + ".mine")
        let error = #expect(throws: StoreError.self) { try Store.open(path: path, model: Self.model) }
        #expect(error?.remedy.contains("remove \(swap.record)") == true)
        #expect(try StoreDescription.read(path: path)?.identity == oldIdentity)
    }

    @Test func `a store whose process was killed while it made the file is none yet`() throws {
        let made = folder.appending(path: "made.sqlite").path
        let (left, queue) = (folder.appending(path: "left.sqlite").path, try DatabaseQueue(path: made))
        try queue.writeWithoutTransaction { database in
            // So small a cache spills, and the journal reaches the disk before the transaction ends.
            try database.execute(sql: "PRAGMA cache_size = 1; BEGIN; CREATE TABLE t (a)")
            for _ in 0..<50 { try database.execute(sql: "INSERT INTO t VALUES (zeroblob(9000))") }
            for suffix in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: made + suffix, toPath: left + suffix)
            }
            try database.execute(sql: "ROLLBACK")
        }
        try queue.close()
        let size = try FileManager.default.attributesOfItem(atPath: left)[.size] as? Int
        #expect(size ?? 0 > 0)
        #expect(try StoreDescription.read(path: left)?.identity == nil)
        #expect(!FileManager.default.fileExists(atPath: left + "-journal"))
        try Store.open(path: left, model: Self.model).close()
    }

    // MARK: The store that goes

    @Test func `its lease is taken whatever its model`() throws {
        let store = try Store.open(path: path, model: Self.model)
        let writer = try WriterContext(store: store)
        let retiring = try RetiringStore(path: path, model: ObjectModel.parse(Models.rules))
        let error = #expect(throws: StoreError.self) { _ = try retiring.takeLease() }
        #expect(error?.code == .leased)
        _ = try writer.apply(
            WriterContext.Chunk(events: [], positions: [SourcePosition(topic: "t", partition: 1, nextOffset: 7)]))
        try writer.close()
        try store.close()
        #expect(try retiring.takeLease().positions.map(\.nextOffset) == [7])
        #expect(try retiring.carryLogOver())
        let next = try Store.open(path: path, model: Self.model)
        let refused = #expect(throws: StoreError.self) { _ = try WriterContext(store: next) }
        #expect(refused?.code == .leased)
        retiring.releaseLease()
        try WriterContext(store: next).close()
        try next.close()
        try retiring.close()
    }

    @Test func `a reader with an old snapshot keeps the log`() throws {
        let store = try Store.open(path: path, model: Self.model)
        let retiring = try RetiringStore(path: path, model: Self.model)
        let writer = try WriterContext(store: store)
        try store.read { snapshot in
            _ = try snapshot.lastToken()
            _ = try writer.apply(
                WriterContext.Chunk(events: [], positions: [SourcePosition(topic: "t", partition: 1, nextOffset: 7)]))
            try writer.commit()
            #expect(try !retiring.carryLogOver())
        }
        #expect(try retiring.carryLogOver())
        try writer.close()
        try retiring.close()
        try store.close()
    }
}
