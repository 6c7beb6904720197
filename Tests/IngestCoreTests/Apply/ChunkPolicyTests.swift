import Testing

@testable import IngestCore

@Suite struct ChunkPolicyTests {
    private func policy(operations: Int = 10, bytes: Int = 1000, milliseconds: Int = 200) -> ChunkPolicy {
        var configuration = ChunkConfiguration()
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
        policy.closed()
        #expect(policy.added(operations: 1, bytes: 5000, at: 0) == .close)
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
        policy.closed()
        #expect(policy.deadline == nil)
        #expect(policy.tick(at: 1000) == .wait)
        #expect(policy.added(operations: 9, bytes: 999, at: 1000) == .wait)
    }
}
