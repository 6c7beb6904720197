import Testing

@testable import IngestCore

@Suite struct CommitPolicyTests {
    private func policy(rows: Int = 100, milliseconds: Int = 250) -> CommitPolicy {
        var configuration = CommitConfiguration()
        (configuration.maxRows, configuration.maxMilliseconds) = (rows, milliseconds)
        return CommitPolicy(configuration)
    }

    @Test func commitsAtOnceWithoutBacklog() {
        var policy = policy()
        #expect(policy.saved(rows: 1, hasBacklog: false, at: 0) == .commit)
    }

    @Test func gathersWhileThereIsBacklog() {
        var policy = policy()
        #expect(policy.saved(rows: 50, hasBacklog: true, at: 0) == .wait)
        #expect(policy.saved(rows: 99, hasBacklog: true, at: 0) == .wait)
        #expect(policy.saved(rows: 100, hasBacklog: true, at: 0) == .commit)
    }

    @Test func commitsAfterItsTime() {
        var policy = policy()
        #expect(policy.tick(at: 50) == .wait)
        #expect(policy.saved(rows: 1, hasBacklog: true, at: 8) == .wait)
        #expect(policy.deadline == 8.25)
        #expect(policy.saved(rows: 2, hasBacklog: true, at: 8.2) == .wait)
        #expect(policy.deadline == 8.25, "the first chunk counts, not the last")
        #expect(policy.tick(at: 8.2) == .wait)
        #expect(policy.tick(at: 8.25) == .commit)
        #expect(policy.saved(rows: 3, hasBacklog: true, at: 8.5) == .commit)
    }

    @Test func commitsWhenNothingMoreIsToCome() {
        var policy = policy()
        #expect(policy.drained() == .wait)
        #expect(policy.saved(rows: 1, hasBacklog: true, at: 0) == .wait)
        #expect(policy.drained() == .commit)
        policy.closed()
        #expect(policy.drained() == .wait)
        #expect(policy.deadline == nil)
        #expect(policy.saved(rows: 1, hasBacklog: true, at: 100) == .wait)
    }
}
