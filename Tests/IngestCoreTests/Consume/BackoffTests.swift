import Testing

@testable import IngestCore

@Suite struct BackoffTests {
    @Test func `doubles up to its limit`() {
        var backoff = Backoff(firstSeconds: 0.5, maximumSeconds: 3)
        #expect((0..<5).map { _ in backoff.failed(jitter: 1) } == [0.5, 1, 2, 3, 3])
        #expect(backoff.failureCount == 5)
    }

    @Test func `jitter takes up to half`() {
        var backoff = Backoff(firstSeconds: 2, maximumSeconds: 8)
        #expect(backoff.failed(jitter: 0) == 1)
        #expect(backoff.failed(jitter: 0.5) == 3)
        #expect(backoff.failed(jitter: 1) == 8)
        for _ in 0..<100 { #expect((4...8).contains(backoff.failed())) }
    }

    @Test func `begins again after a success`() {
        var backoff = Backoff(firstSeconds: 1, maximumSeconds: 60)
        for _ in 0..<200 { #expect(backoff.failed(jitter: 1) <= 60) }
        backoff.succeeded()
        #expect(backoff.failureCount == 0)
        #expect(backoff.failed(jitter: 1) == 1)
    }
}

@Suite struct RecurrenceTests {
    @Test func `the first try is due at once and the next after the delay`() {
        var recurrence = Recurrence(everySeconds: 2)
        let times = [5, 5, 6.5, 7, 8.5, 100, 101]
        let due = times.map { recurrence.isDue(at: $0) }
        // What was missed before 100 is not made up for.
        #expect(due == [true, false, false, true, false, true, false])
    }
}
