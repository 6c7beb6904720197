import Foundation
import ObjectGraph
import Synchronization
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// When the write-ahead log is carried over, and that readers who follow on one another do not let it grow for good.
@Suite struct LogCheckpointsTests {
    @Test func `a small log is left and a large one is carried over`() {
        let decision = CheckpointDecision()
        #expect(decision.manner(pages: 15_999, at: 0) == .none)
        #expect(decision.manner(pages: 16_000, at: 0) == .passive)
        #expect(decision.manner(pages: 63_999, at: 0) == .passive)
        #expect(decision.manner(pages: 64_000, at: 0) == .waiting)
    }

    @Test func `a wait in vain puts the next one off`() {
        var decision = CheckpointDecision()
        decision.waitedInVain(at: 100)
        #expect(decision.manner(pages: 70_000, at: 129) == .passive)
        #expect(decision.manner(pages: 70_000, at: 130) == .waiting)
    }

    /// Two readers hand over: each ends when the other has begun, or after a tenth of a second, so that there is
    /// hardly a moment without one that is older than the last commit.
    @Test func `readers that follow on one another do not let the log grow`() throws {
        var options = Store.Options()
        options.checkpoints.passivePages = 20
        options.checkpoints.waitingPages = 80
        let store = try Store.inMemory(model: configuredModel("chat"), options: options)
        let graph = try Graph(store)
        let begun = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
        let isOver = Mutex(false)
        let ended = DispatchGroup()
        for number in 0..<2 {
            ended.enter()
            Thread.detachNewThread {
                while !isOver.withLock({ $0 }) {
                    _ = try? store.read { context in
                        _ = try context.lastToken()
                        begun[number].signal()
                        _ = begun[1 - number].wait(timeout: .now() + 0.1)
                    }
                }
                begun[number].signal()
                ended.leave()
            }
        }
        var largest = 0
        for number in 0..<300 {
            try graph.apply(graph.upsert("Chat", .text("c\(number)"), ["title": .value(.text("t"))]))
            let attributes = try FileManager.default.attributesOfItem(atPath: store.path + "-wal")
            largest = max(largest, (attributes[.size] as? NSNumber)?.intValue ?? 0)
        }
        isOver.withLock { $0 = true }
        ended.wait()
        // 80 pages and what one commit writes; without the wait it is more than a thousand pages.
        #expect(largest < 160 * 4096)
    }
}
