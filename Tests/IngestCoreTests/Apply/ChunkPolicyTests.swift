import Testing

@testable import IngestCore

@Suite struct ChunkPolicyTests {
    private func policy(
        operations: Int = 10, backlogOperations: Int = 1, bytes: Int = 1000, milliseconds: Int = 200
    ) -> ChunkPolicy {
        var configuration = ChunkConfiguration()
        configuration.maxBacklogOperations = backlogOperations
        (configuration.maxOperations, configuration.maxBytes, configuration.maxMilliseconds) = (
            operations, bytes, milliseconds
        )
        return ChunkPolicy(configuration)
    }

    @Test func closesAtItsNumberOfOperations() {
        var policy = policy()
        #expect(policy.added(operations: 4, bytes: 1, at: 0) == .wait)
        #expect(policy.added(operations: 5, bytes: 1, at: 0) == .wait)
        #expect(policy.added(operations: 1, bytes: 1, at: 0) == .close)
    }

    @Test func aRecordWithoutOperationsCountsToo() {
        var policy = policy(operations: 3)
        #expect(policy.added(operations: 0, bytes: 0, at: 0) == .wait)
        #expect(policy.added(operations: 0, bytes: 0, at: 0) == .wait)
        #expect(policy.added(operations: 0, bytes: 0, at: 0) == .close)
    }

    @Test func closesAtItsBytes() {
        var policy = policy()
        #expect(policy.added(operations: 1, bytes: 999, at: 0) == .wait)
        #expect(policy.added(operations: 1, bytes: 1, at: 0) == .close)
        policy.closed(hasBacklog: false)
        #expect(policy.added(operations: 1, bytes: 5000, at: 0) == .close)
    }

    @Test func `chunks double while records wait, up to their bound`() {
        var policy = policy(operations: 10, backlogOperations: 30)
        for limit in [10, 20, 30, 30] {
            #expect(policy.added(operations: limit - 1, bytes: 1, at: 0) == .wait)
            #expect(policy.added(operations: 1, bytes: 1, at: 0) == .close)
            policy.closed(hasBacklog: true)
        }
        #expect(policy.added(operations: 1, bytes: 1000, at: 0) == .close, "bytes bound a grown chunk too")
    }

    @Test func `a chunk that its time closed does not make the next one grow`() {
        var policy = policy(operations: 10, backlogOperations: 30)
        #expect(policy.added(operations: 9, bytes: 1, at: 0) == .wait)
        #expect(policy.tick(at: 1) == .close)
        policy.closed(hasBacklog: true)
        #expect(policy.added(operations: 10, bytes: 1, at: 1) == .close)
    }

    @Test func `the end of the backlog brings the usual size back`() {
        var policy = policy(operations: 10, backlogOperations: 30)
        #expect(policy.added(operations: 10, bytes: 1, at: 0) == .close)
        policy.closed(hasBacklog: true)
        #expect(policy.added(operations: 20, bytes: 1, at: 0) == .close)
        policy.closed(hasBacklog: false)
        #expect(policy.added(operations: 10, bytes: 1, at: 0) == .close)
    }

    @Test func `no chunk grows beyond a bound that is smaller than its usual size`() {
        var policy = policy(operations: 10, backlogOperations: 1)
        for _ in 0..<2 {
            #expect(policy.added(operations: 10, bytes: 1, at: 0) == .close)
            policy.closed(hasBacklog: true)
        }
    }

    @Test func closesAfterItsTime() {
        var policy = policy(milliseconds: 250)
        #expect(policy.tick(at: 100) == .wait)
        #expect(policy.deadline == nil)
        #expect(policy.added(operations: 1, bytes: 1, at: 8) == .wait)
        #expect(policy.deadline == 8.25)
        #expect(policy.tick(at: 8.2) == .wait)
        #expect(policy.added(operations: 1, bytes: 1, at: 8.2) == .wait)
        #expect(policy.deadline == 8.25, "the first record counts, not the last")
        #expect(policy.tick(at: 8.25) == .close)
        #expect(policy.added(operations: 1, bytes: 1, at: 9) == .close)
    }

    @Test func beginsAnewWhenClosed() {
        var policy = policy()
        #expect(policy.added(operations: 9, bytes: 999, at: 1) == .wait)
        policy.closed(hasBacklog: false)
        #expect(policy.deadline == nil)
        #expect(policy.tick(at: 1000) == .wait)
        #expect(policy.added(operations: 9, bytes: 999, at: 1000) == .wait)
    }
}
