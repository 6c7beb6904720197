import Testing

@testable import IngestCore

@Suite struct FetchWatchTests {
    /// Looks after a second of polls without a sign of life. The partition is at offset 5; the broker may wait a second.
    private func update(
        _ watch: inout FetchWatch, end: Int64?, at time: Double, next: Int64? = 5, polls: Int = 10
    ) -> FetchWatch.Action? {
        for _ in 0..<polls { watch.polled(isFull: false) }
        return watch.update(end: end, next: next, at: time)
    }

    @Test func `a silent partition is reported and fetched again, each time later`() {
        var watch = FetchWatch(brokerWaitSeconds: 1)
        #expect(update(&watch, end: 5, at: 0) == nil && !watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 100) == nil && watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 102.9) == nil)
        #expect(update(&watch, end: 9, at: 103) == .tell(behind: 4))
        #expect(update(&watch, end: 9, at: 105.9) == nil)
        #expect(update(&watch, end: 11, at: 106) == .refetch(behind: 6))
        watch.begin()
        var times: [Double] = []
        for time in 107...400 where update(&watch, end: 11, at: Double(time)) != nil { times.append(Double(time)) }
        // After 10, 20, 40 … seconds more, and what the broker may wait for.
        #expect(times == [117, 138, 179, 260])
    }

    @Test func `a partition is fetched again after five minutes at the latest`() {
        var watch = FetchWatch(brokerWaitSeconds: 1)
        var times: [Double] = []
        for time in 0...2000 {
            if case .refetch = update(&watch, end: 9, at: Double(time)) { times.append(Double(time)) }
        }
        #expect(zip(times.dropFirst(), times).map { $0 - $1 } == [11, 21, 41, 81, 161, 301, 301, 301, 301, 301])
    }

    @Test func `a record ends the silence and the next silence begins again`() {
        var watch = FetchWatch(brokerWaitSeconds: 1)
        #expect(update(&watch, end: 9, at: 0) == nil)
        #expect(update(&watch, end: 9, at: 3) == .tell(behind: 4))
        watch.hear()
        #expect(!watch.isSuspicious && watch.isReported)
        #expect(update(&watch, end: 9, at: 4, next: 6) == .over)
        #expect(update(&watch, end: 9, at: 10, next: 6) == .refetch(behind: 3))
        // Records that take long to come are waited for as long as the last time.
        watch.hear()
        #expect(update(&watch, end: 9, at: 11, next: 7) == nil)
        #expect(update(&watch, end: 9, at: 21.9, next: 7) == .tell(behind: 2))
        #expect(update(&watch, end: 9, at: 22, next: 7) == .refetch(behind: 2))
        watch.reachEnd(9)
        #expect(update(&watch, end: 9, at: 23, next: 9) == .over && !watch.isReported)
        #expect(update(&watch, end: 10, at: 30, next: 9) == nil)
        #expect(update(&watch, end: 10, at: 36, next: 9) == .refetch(behind: 1))
    }

    @Test func `a partition that was read meanwhile is no longer silent`() {
        var watch = FetchWatch(brokerWaitSeconds: 1)
        #expect(update(&watch, end: 9, at: 0) == nil)
        #expect(update(&watch, end: 9, at: 3) == .tell(behind: 4))
        #expect(update(&watch, end: 9, at: 10, next: 9) == .over)
        // A silence that was not told needs no end.
        #expect(update(&watch, end: 12, at: 11, next: 9) == nil)
        #expect(update(&watch, end: 12, at: 12, next: 12) == nil && !watch.isSuspicious)
    }

    /// Markers of transactions, and compaction, leave offsets without records.
    @Test func `the end that the client has reached counts as read`() {
        var watch = FetchWatch(brokerWaitSeconds: 1)
        watch.reachEnd(7)
        #expect(update(&watch, end: 7, at: 0) == nil && !watch.isSuspicious)
        #expect(watch.reached(next: 5) == 7 && watch.reached(next: 8) == 8)
        #expect(update(&watch, end: 8, at: 1) == nil)
        #expect(update(&watch, end: 8, at: 4) == .tell(behind: 1))
        // From elsewhere, or of another log: the old end means nothing.
        watch.begin()
        #expect(watch.reached(next: nil) == 0)
        #expect(update(&watch, end: 7, at: 7) == .refetch(behind: 2))
    }

    @Test func `a partition that is not read is left alone, and without an answer it stays as it is`() {
        var watch = FetchWatch(brokerWaitSeconds: 1)
        #expect(update(&watch, end: 9, at: 0, next: nil) == nil && !watch.isSuspicious)
        #expect(update(&watch, end: nil, at: 50) == nil && !watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 60) == nil)
        #expect(update(&watch, end: nil, at: 62) == nil && watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 63) == .tell(behind: 4))
        #expect(update(&watch, end: nil, at: 100) == nil)
        #expect(update(&watch, end: 9, at: 101, next: nil) == .over)
        // A partition of which nothing is known yet has everything before it.
        #expect(update(&watch, end: 9, at: 102, next: 0) == nil)
        #expect(update(&watch, end: 9, at: 105, next: 0) == .tell(behind: 9))
    }

    @Test func `silence behind a full queue or without polls means nothing`() {
        var watch = FetchWatch(brokerWaitSeconds: 1)
        #expect(update(&watch, end: 9, at: 0) == nil)
        watch.polled(isFull: true)
        #expect(update(&watch, end: 9, at: 6) == nil)
        // A commit that takes long: nobody looked for records.
        #expect(update(&watch, end: 9, at: 60, polls: 9) == nil)
        #expect(update(&watch, end: 9, at: 61, polls: 1) == .refetch(behind: 4))
    }
}
