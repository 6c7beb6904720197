import Foundation
import ObjectGraph
import Synchronization
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// When the write-ahead log is carried over, and that readers who follow on one another do not let it grow for good.
@Suite struct LogCheckpointsTests {
    @Test func `a small log is left and a large one is carried over`() {
        var decision = CheckpointDecision()
        var pages: Int32 = 0
        func manner(through end: Int32) -> CheckpointDecision.Manner {
            var manner = CheckpointDecision.Manner.none
            while pages < end {
                pages = min(end, pages + 1999)
                manner = decision.manner(pages: pages, hasRoom: true, at: 0)
            }
            return manner
        }
        #expect(manner(through: 15_999) == .none)
        #expect(manner(through: 16_000) == .passive)
        #expect(manner(through: 63_999) == .passive)
        #expect(manner(through: 64_000) == .waiting)
    }

    @Test func `behind a large commit the log may grow, where the disk has room`() {
        var decision = CheckpointDecision()
        #expect(decision.manner(pages: 63_999, hasRoom: true, at: 0) == .none)
        #expect(decision.manner(pages: 66_000, hasRoom: true, at: 0) == .passive)
        #expect(decision.manner(pages: 96_000, hasRoom: true, at: 0) == .waiting)
        // The log has begun again: the commit has all of its pages.
        #expect(decision.manner(pages: 20_000, hasRoom: true, at: 0) == .none)
        #expect(decision.manner(pages: 22_000, hasRoom: false, at: 0) == .passive)
        #expect(decision.manner(pages: 23_999, hasRoom: true, at: 0) == .passive)
        #expect(decision.manner(pages: 26_000, hasRoom: true, at: 0) == .none)
    }

    @Test func `a wait in vain puts the next one off`() {
        var decision = CheckpointDecision()
        decision.waitedInVain(at: 100)
        #expect(decision.manner(pages: 100_000, hasRoom: true, at: 129) == .passive)
        #expect(decision.manner(pages: 100_000, hasRoom: true, at: 130) == .waiting)
    }

    @Test func `the rest behind a wait in vain ends with the reader that held everything up`() {
        var decision = CheckpointDecision()
        decision.waitedInVain(at: 100, heldAtPages: 5000)
        decision.carried(5000)
        #expect(decision.manner(pages: 100_000, hasRoom: true, at: 101) == .passive)
        decision.carried(5001)
        #expect(decision.manner(pages: 100_001, hasRoom: true, at: 102) == .waiting)
        // Readers who let a part of the log past follow on one another: no step tells that they have gone.
        decision.waitedInVain(at: 105)
        decision.carried(100_000)
        #expect(decision.manner(pages: 100_002, hasRoom: true, at: 106) == .passive)
    }

    /// Two readers hand over: each ends when the other has begun, or after a tenth of a second, so that there is
    /// hardly a moment without one that is older than the last commit.
    @Test func `readers that follow on one another do not let the log grow`() throws {
        var options = Store.Options()
        options.checkpoints.limits = CheckpointDecision.Limits(passivePages: 20, waitingPages: 80)
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
