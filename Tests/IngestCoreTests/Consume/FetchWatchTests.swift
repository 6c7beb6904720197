import KafkaClient
import Testing

@testable import IngestCore

@Suite struct FetchWatchTests {
    private let place = TopicPartition("t", 0)

    /// A partition at offset 5; the broker may wait for a second.
    private func watch() -> FetchWatch {
        var watch = FetchWatch(brokerWaitSeconds: 1)
        watch.begin(place)
        return watch
    }

    /// Looks after a second of polls without a sign of life.
    private func update(
        _ watch: inout FetchWatch, end: Int64?, at time: Double, next: Int64? = 5, polls: Int = 10
    ) -> [FetchWatch.Action] {
        for _ in 0..<polls { watch.polled(isFull: false) }
        return watch.update(
            ends: end.map { [place: $0] } ?? [:], next: next.map { [place: $0] } ?? [:], at: time)
    }

    @Test func whatIsBehindAndSilentIsToldAndFetchedAnewEachTimeLater() {
        var watch = watch()
        #expect(update(&watch, end: 5, at: 0).isEmpty && !watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 100).isEmpty && watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 102.9).isEmpty)
        #expect(update(&watch, end: 9, at: 103) == [.tell(place, behind: 4)])
        #expect(update(&watch, end: 9, at: 105.9).isEmpty)
        #expect(update(&watch, end: 11, at: 106) == [.fetchAnew(place, behind: 6)])
        watch.begin(place)
        var times: [Double] = []
        for time in 107...400 where !update(&watch, end: 11, at: Double(time)).isEmpty { times.append(Double(time)) }
        // After 10, 20, 40 … seconds more, and what the broker may wait for.
        #expect(times == [117, 138, 179, 260])
    }

    @Test func aRecordEndsItAndTheNextSilenceBeginsAnew() {
        var watch = watch()
        #expect(update(&watch, end: 9, at: 0).isEmpty)
        #expect(update(&watch, end: 9, at: 3) == [.tell(place, behind: 4)])
        watch.hear(place)
        #expect(!watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 4, next: 6) == [.over(place)])
        #expect(update(&watch, end: 9, at: 10, next: 6) == [.fetchAnew(place, behind: 3)])
        // Records that take long to come are waited for as long as the last time.
        watch.hear(place)
        #expect(update(&watch, end: 9, at: 11, next: 7).isEmpty)
        #expect(update(&watch, end: 9, at: 21.9, next: 7) == [.tell(place, behind: 2)])
        #expect(update(&watch, end: 9, at: 22, next: 7) == [.fetchAnew(place, behind: 2)])
        watch.reachEnd(place, offset: 9)
        #expect(update(&watch, end: 9, at: 23, next: 9) == [.over(place)])
        #expect(update(&watch, end: 10, at: 30, next: 9).isEmpty)
        #expect(update(&watch, end: 10, at: 36, next: 9) == [.fetchAnew(place, behind: 1)])
    }

    @Test func whatWasReadMeanwhileIsOver() {
        var watch = watch()
        #expect(update(&watch, end: 9, at: 0).isEmpty)
        #expect(update(&watch, end: 9, at: 3) == [.tell(place, behind: 4)])
        #expect(update(&watch, end: 9, at: 10, next: 9) == [.over(place)])
        // What was not told needs no end.
        #expect(update(&watch, end: 12, at: 11, next: 9).isEmpty)
        #expect(update(&watch, end: 12, at: 12, next: 12).isEmpty && !watch.isSuspicious)
    }

    /// Markers of transactions, and what compaction took, leave offsets without records.
    @Test func theEndThatTheClientHasComeToCountsAsRead() {
        var watch = watch()
        watch.reachEnd(place, offset: 7)
        #expect(update(&watch, end: 7, at: 0).isEmpty && !watch.isSuspicious)
        #expect(watch.reached(place, next: 5) == 7 && watch.reached(place, next: 8) == 8)
        #expect(update(&watch, end: 8, at: 1).isEmpty)
        #expect(update(&watch, end: 8, at: 4) == [.tell(place, behind: 1)])
        // From elsewhere, or of another log: the old end means nothing.
        watch.begin(place)
        #expect(watch.reached(place, next: nil) == 0)
        #expect(update(&watch, end: 7, at: 7) == [.fetchAnew(place, behind: 2)])
    }

    @Test func whatIsNotReadIsLeftAloneAndWhatIsNotAnsweredStaysAsItIs() {
        var watch = watch()
        #expect(update(&watch, end: 9, at: 0, next: nil).isEmpty && !watch.isSuspicious)
        #expect(update(&watch, end: nil, at: 50).isEmpty && !watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 60).isEmpty)
        #expect(update(&watch, end: nil, at: 62).isEmpty && watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 63) == [.tell(place, behind: 4)])
        #expect(update(&watch, end: nil, at: 100).isEmpty)
        #expect(update(&watch, end: 9, at: 101, next: nil) == [.over(place)])
        // A partition of which nothing is known yet has everything before it.
        #expect(update(&watch, end: 9, at: 102, next: 0).isEmpty)
        #expect(update(&watch, end: 9, at: 105, next: 0) == [.tell(place, behind: 9)])
        watch.end(place)
        #expect(update(&watch, end: 9, at: 200) == [.over(place)])
        #expect(update(&watch, end: 9, at: 300).isEmpty)
    }

    @Test func silenceBehindAFullQueueOrWithoutPollsMeansNothing() {
        var watch = watch()
        #expect(update(&watch, end: 9, at: 0).isEmpty)
        watch.polled(isFull: true)
        #expect(update(&watch, end: 9, at: 6).isEmpty)
        // A commit that takes long: nobody looked what had come.
        #expect(update(&watch, end: 9, at: 60, polls: 9).isEmpty)
        #expect(update(&watch, end: 9, at: 61, polls: 1) == [.fetchAnew(place, behind: 4)])
    }
}
