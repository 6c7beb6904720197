import Testing

@testable import IngestCore

@Suite struct PartitionSupervisionTests {
    private var supervision = PartitionSupervision()

    @Test mutating func `a worker starts with its partition, and stops with it`() {
        #expect(supervision.assigned([0, 2]) == [.start(0), .start(2)])
        #expect(supervision.assigned([0, 2]) == [])
        #expect(supervision.revoked([2, 5]) == [.stop(2)])
        #expect(supervision.revoked([2]) == [])
        #expect(supervision.ended(2, failure: nil, at: 2, jitter: 1) == [])
        #expect(supervision.partitions == [0])
    }

    @Test mutating func `a worker that fails rests for longer each time, and starts again`() {
        _ = supervision.assigned([1])
        #expect(supervision.ended(1, failure: "leased", at: 1, jitter: 1) == [])
        #expect(supervision.failures == [1: "leased"])
        #expect(supervision.tick(at: 1.4) == [])
        #expect(supervision.tick(at: 1.5) == [.start(1)])
        _ = supervision.ended(1, failure: "leased", at: 2, jitter: 1)
        #expect(supervision.tick(at: 2.9) == [] && supervision.tick(at: 3) == [.start(1)])
        // To open a store may take long: that is no sound run.
        #expect(supervision.tick(at: 9) == [] && supervision.failures == [1: "leased"])
        _ = supervision.ended(1, failure: "leased", at: 9, jitter: 1)
        #expect(supervision.tick(at: 10.9) == [] && supervision.tick(at: 11) == [.start(1)])
        // A worker that has run for a while was sound, and its next rest is short.
        supervision.opened(1, at: 12)
        #expect(supervision.tick(at: 17) == [] && supervision.failures == [:])
        _ = supervision.ended(1, failure: "disk", at: 20, jitter: 1)
        #expect(supervision.tick(at: 20.5) == [.start(1)])
    }

    @Test mutating func `a rest is at most half a minute`() {
        _ = supervision.assigned([1])
        for _ in 0..<20 {
            _ = supervision.ended(1, failure: "leased", at: 0, jitter: 1)
            _ = supervision.tick(at: 0)
            #expect(supervision.tick(at: 30) == [.start(1)])
        }
    }

    @Test mutating func `a resting worker's partition goes without an end, and comes back at once`() {
        _ = supervision.assigned([1])
        _ = supervision.ended(1, failure: "leased", at: 1, jitter: 1)
        #expect(supervision.revoked([1]) == [] && supervision.partitions == [])
        #expect(supervision.assigned([1]) == [.start(1)])
        _ = supervision.ended(1, failure: "leased", at: 1.2, jitter: 1)
        #expect(supervision.assigned([1]) == [.start(1)])
    }

    @Test mutating func `a partition that comes back before its worker has ended starts after the end`() {
        _ = supervision.assigned([1])
        #expect(supervision.revoked([1]) == [.stop(1)])
        #expect(supervision.assigned([1]) == [])
        #expect(supervision.ended(1, failure: nil, at: 2, jitter: 1) == [.start(1)])
        #expect(supervision.partitions == [1])
    }

    @Test mutating func `a worker that fails at its end leaves nothing behind`() {
        _ = supervision.assigned([1])
        _ = supervision.revoked([1])
        #expect(supervision.ended(1, failure: "fenced", at: 2, jitter: 1) == [])
        #expect(supervision.partitions == [] && supervision.failures == [:])
    }
}
