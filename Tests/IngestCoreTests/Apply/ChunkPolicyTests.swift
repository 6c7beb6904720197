import Testing

@testable import IngestCore

@Suite struct ChunkPolicyTests {
    private func policy(
        operations: Int = 10, backlogOperations: Int = 80, bytes: Int = 1000, milliseconds: Int = 200,
        commitRows: Int = 100, commitMilliseconds: Int = 400
    ) -> ChunkPolicy {
        var chunk = ChunkConfiguration()
        (chunk.maxOperations, chunk.maxBytes, chunk.maxMilliseconds) = (operations, bytes, milliseconds)
        chunk.maxBacklogOperations = backlogOperations
        var commit = CommitConfiguration()
        (commit.maxRows, commit.maxMilliseconds) = (commitRows, commitMilliseconds)
        return ChunkPolicy(chunk, commit)
    }

    /// Fills a chunk and commits it; returns how many operations it took.
    private func fill(
        _ policy: inout ChunkPolicy, rowsPerOperation: Int = 1, hasBacklog: Bool = true, seconds: Double = 0
    ) -> Int {
        var count = 1
        while policy.added(operations: 1, bytes: 1, hasBacklog: hasBacklog, at: 5) == .wait { count += 1 }
        policy.committed(policy.close(at: 5), rows: count * rowsPerOperation, seconds: seconds)
        return count
    }

    // MARK: A chunk's own bounds

    @Test(arguments: [true, false]) func `a chunk closes at its number of operations`(hasBacklog: Bool) {
        var policy = policy()
        #expect(policy.added(operations: 4, bytes: 1, hasBacklog: hasBacklog, at: 0) == .wait)
        #expect(policy.added(operations: 5, bytes: 1, hasBacklog: hasBacklog, at: 0) == .wait)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: hasBacklog, at: 0) == .close)
    }

    @Test func `references in lists close a chunk where operations are the most that a chunk may have`() {
        var policy = policy()
        #expect(policy.added(operations: 1, references: 40, bytes: 1, hasBacklog: true, at: 0) == .wait)
        #expect(policy.added(operations: 1, references: 38, bytes: 1, hasBacklog: true, at: 0) == .close)
        _ = policy.close(at: 0)
        #expect(policy.added(operations: 1, references: 40, bytes: 1, hasBacklog: true, at: 0) == .wait)
    }

    @Test func `a record without operations counts too`() {
        var policy = policy(operations: 3)
        #expect(policy.added(operations: 0, bytes: 0, hasBacklog: true, at: 0) == .wait)
        #expect(policy.added(operations: 0, bytes: 0, hasBacklog: true, at: 0) == .wait)
        #expect(policy.added(operations: 0, bytes: 0, hasBacklog: true, at: 0) == .close)
    }

    @Test func `a chunk closes at its bytes, however far it may grow`() {
        var policy = policy()
        #expect(fill(&policy) == 10)
        #expect(policy.added(operations: 1, bytes: 999, hasBacklog: true, at: 0) == .wait)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: true, at: 0) == .close)
        policy.committed(policy.close(at: 0), rows: 2, seconds: 0)
        #expect(policy.added(operations: 1, bytes: 5000, hasBacklog: true, at: 0) == .close)
    }

    @Test func `with backlog a chunk closes after its time, counted from the first record`() {
        var policy = policy(milliseconds: 250)
        #expect(policy.tick(hasBacklog: true, at: 100) == .wait)
        #expect(policy.deadline == nil)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: true, at: 8) == .wait)
        #expect(policy.tick(hasBacklog: true, at: 8.2) == .wait)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: true, at: 8.2) == .wait)
        #expect(policy.tick(hasBacklog: true, at: 8.25) == .close)
        #expect(policy.tick(hasBacklog: false, at: 8.25) == .close)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: true, at: 9) == .close)
    }

    @Test func `with backlog a chunk may be open for half of the time of its commit`() {
        var policy = policy(commitMilliseconds: 3000)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: true, at: 8) == .wait)
        #expect(policy.tick(hasBacklog: true, at: 9) == .wait)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: true, at: 9.5) == .close)
        _ = policy.close(at: 9.5)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: false, at: 9.5) == .wait)
        #expect(policy.tick(hasBacklog: false, at: 9.75) == .close)
    }

    @Test func `without backlog a record after a pause is due at once, with all that came beside it`() {
        var policy = policy(milliseconds: 250)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: false, at: 8) == .wait)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: false, at: 8) == .wait)
        #expect(policy.deadline == 8)
        #expect(policy.tick(hasBacklog: false, at: 8) == .close)
    }

    @Test func `without backlog commits are the time of a chunk apart`() {
        var policy = policy(milliseconds: 250)
        _ = policy.close(at: 8)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: false, at: 8.125) == .wait)
        #expect(policy.deadline == 8.25)
        #expect(policy.tick(hasBacklog: false, at: 8.125) == .wait)
        #expect(policy.tick(hasBacklog: false, at: 8.25) == .close)
        _ = policy.close(at: 8.25)
        #expect(policy.added(operations: 1, bytes: 1, hasBacklog: false, at: 9) == .wait)
        #expect(policy.tick(hasBacklog: false, at: 9) == .close)
    }

    @Test func `a dropped chunk leaves nothing to the next one`() {
        var policy = policy()
        #expect(policy.added(operations: 9, bytes: 999, hasBacklog: true, at: 1) == .wait)
        policy.dropped()
        #expect(policy.deadline == nil)
        #expect(policy.tick(hasBacklog: true, at: 1000) == .wait)
        #expect(policy.added(operations: 9, bytes: 999, hasBacklog: true, at: 1000) == .wait)
    }

    // MARK: Growth

    @Test func `with backlog each full chunk doubles the next, up to the rows of a commit`() {
        var policy = policy(commitRows: 70)
        #expect((0..<6).map { _ in fill(&policy) } == [10, 20, 40, 40, 40, 40])
    }

    @Test func `a chunk grows to its bound, and not at all where the bound is smaller than the chunk`() {
        var policy = policy(backlogOperations: 70, commitRows: 1000)
        #expect((0..<6).map { _ in fill(&policy) } == [10, 20, 40, 70, 70, 70])
        var fixed = self.policy(backlogOperations: 1, commitRows: 1000)
        #expect((0..<3).map { _ in fill(&fixed) } == [10, 10, 10])
    }

    @Test func `a chunk does not grow where the next commit would take too long`() {
        var policy = policy()
        #expect(fill(&policy, seconds: 0.125) == 10)
        #expect(fill(&policy, seconds: 0.25) == 20)
        #expect(fill(&policy, seconds: 0.25) == 20)
    }

    @Test func `a commit of too many rows or too much time halves the next chunk`() {
        var policy = policy()
        #expect((0..<3).map { _ in fill(&policy) } == [10, 20, 40])
        #expect(fill(&policy, seconds: 0.5) == 80)
        #expect(fill(&policy, rowsPerOperation: 3) == 40)
        #expect(fill(&policy, rowsPerOperation: 20) == 20)
        #expect(fill(&policy, rowsPerOperation: 20) == 10)
        #expect(fill(&policy, rowsPerOperation: 20) == 10)
    }

    @Test func `a chunk that another writer got in the way of halves the next`() {
        var policy = policy()
        #expect((0..<3).map { _ in fill(&policy) } == [10, 20, 40])
        #expect(policy.added(operations: 80, bytes: 1, hasBacklog: true, at: 0) == .close)
        policy.committed(policy.close(at: 0), rows: 80, seconds: 0, conflicts: 1)
        #expect((0..<2).map { _ in fill(&policy) } == [40, 80])
    }

    @Test func `a chunk that was not full does not double the next`() {
        var policy = policy()
        #expect(policy.added(operations: 9, bytes: 1, hasBacklog: true, at: 0) == .wait)
        policy.committed(policy.close(at: 0), rows: 9, seconds: 0)
        #expect(fill(&policy) == 10)
    }

    @Test func `at the end of the backlog a grown chunk closes at once, and the next ones are small`() {
        var policy = policy()
        #expect((0..<2).map { _ in fill(&policy) } == [10, 20])
        #expect(policy.added(operations: 10, bytes: 1, hasBacklog: true, at: 0) == .wait)
        #expect(policy.tick(hasBacklog: false, at: 0) == .close)
        policy.committed(policy.close(at: 0), rows: 10, seconds: 0)
        #expect((0..<3).map { _ in fill(&policy, hasBacklog: false) } == [10, 10, 10])
    }

    @Test func `where a commit has one row or no time, chunks stay small`() {
        var byRows = policy(commitRows: 1)
        #expect((0..<3).map { _ in fill(&byRows) } == [10, 10, 10])
        var byTime = policy(commitMilliseconds: 0)
        #expect((0..<3).map { _ in fill(&byTime) } == [10, 10, 10])
    }

    // MARK: The time of a commit

    /// Writers, `lease.ttlSeconds`, `shutdown.drainSeconds`, `commit.maxMilliseconds`, and the time that counts.
    @Test(arguments: [
        (StoreConfiguration.Writers.one, 10, 10, 3000, 3000), (.one, 10, 10, 60_000, 3333), (.one, 3, 10, 3000, 1000),
        (.one, 60, 2, 3000, 2000), (.one, 60, 0, 3000, 1000), (.one, 1, 0, 500, 500), (.many, 60, 60, 3000, 1000),
        (.many, 60, 60, 0, 0),
    ])
    func `a commit may take longer than a second where nobody waits for it`(
        writers: StoreConfiguration.Writers, lease: Int, drain: Int, setting: Int, counts: Int
    ) {
        var configuration = WorkerConfiguration()
        configuration.store.writers = writers
        (configuration.lease.ttlSeconds, configuration.shutdown.drainSeconds) = (lease, drain)
        configuration.commit.maxMilliseconds = setting
        #expect(configuration.commitBounds.maxMilliseconds == counts)
        #expect(configuration.commitBounds.maxRows == configuration.commit.maxRows)
    }
}
