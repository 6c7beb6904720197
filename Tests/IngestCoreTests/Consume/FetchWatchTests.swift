import KafkaClient
import Testing

@testable import IngestCore

@Suite struct FetchWatchTests {
    private let place = TopicPartition("t", 0)

    /// A partition at offset 5.
    private func watch() -> FetchWatch {
        var watch = FetchWatch()
        watch.begin(place)
        return watch
    }

    private func update(
        _ watch: inout FetchWatch, end: Int64?, at time: Double, next: Int64?? = .some(5)
    ) -> [FetchWatch.Action] {
        watch.update(ends: end.map { [place: $0] } ?? [:], at: time) { _ in next }
    }

    @Test func whatIsBehindAndSilentIsToldAndFetchedAnewEachTimeLater() {
        var watch = watch()
        #expect(update(&watch, end: 5, at: 0).isEmpty)
        #expect(update(&watch, end: 9, at: 100) == [.tell(place, behind: 4)])
        #expect(update(&watch, end: 9, at: 104.9).isEmpty)
        #expect(update(&watch, end: 11, at: 105) == [.fetchAnew(place, behind: 6)])
        watch.begin(place)
        #expect(update(&watch, end: 11, at: 114.9).isEmpty)
        #expect(update(&watch, end: 11, at: 115) == [.fetchAnew(place, behind: 6)])
        var times: [Double] = []
        for time in 116...1000 where !update(&watch, end: 11, at: Double(time)).isEmpty { times.append(Double(time)) }
        #expect(times == [135, 175, 255, 415, 575, 735, 895])
    }

    @Test func aRecordEndsItAndTheNextSilenceBeginsAnew() {
        var watch = watch()
        #expect(update(&watch, end: 9, at: 0) == [.tell(place, behind: 4)])
        #expect(watch.isSuspicious)
        watch.hear(place)
        #expect(!watch.isSuspicious)
        #expect(update(&watch, end: 9, at: 4, next: 6) == [.over(place), .tell(place, behind: 3)])
        #expect(update(&watch, end: 9, at: 8.9, next: 6).isEmpty)
        #expect(update(&watch, end: 9, at: 9, next: 6) == [.fetchAnew(place, behind: 3)])
        // Records that take long to come are waited for as long as the last time.
        watch.hear(place)
        #expect(update(&watch, end: 9, at: 10, next: 7) == [.over(place), .tell(place, behind: 2)])
        #expect(update(&watch, end: 9, at: 19, next: 7).isEmpty)
        #expect(update(&watch, end: 9, at: 20, next: 7) == [.fetchAnew(place, behind: 2)])
        watch.reachEnd(place, offset: 9)
        #expect(update(&watch, end: 9, at: 21, next: 9) == [.over(place)])
        #expect(update(&watch, end: 10, at: 30, next: 9) == [.tell(place, behind: 1)])
        #expect(update(&watch, end: 10, at: 35, next: 9) == [.fetchAnew(place, behind: 1)])
    }

    @Test func whatWasReadMeanwhileIsOver() {
        var watch = watch()
        #expect(update(&watch, end: 9, at: 0) == [.tell(place, behind: 4)])
        #expect(update(&watch, end: 9, at: 10, next: 9) == [.over(place)])
        #expect(update(&watch, end: 9, at: 11, next: 9).isEmpty)
    }

    /// Markers of transactions, and what compaction took, leave offsets without records.
    @Test func theEndThatTheClientHasComeToCountsAsRead() {
        var watch = watch()
        watch.reachEnd(place, offset: 7)
        #expect(update(&watch, end: 7, at: 0).isEmpty)
        #expect(watch.reached(place, next: 5) == 7 && watch.reached(place, next: 8) == 8)
        #expect(update(&watch, end: 8, at: 1) == [.tell(place, behind: 1)])
        // From elsewhere, or of another log: the old end means nothing.
        watch.begin(place)
        #expect(watch.reached(place, next: nil) == 0)
        #expect(update(&watch, end: 7, at: 6) == [.fetchAnew(place, behind: 2)])
    }

    @Test func whatIsNotReadOrNotAnsweredIsLeftAlone() {
        var watch = watch()
        #expect(update(&watch, end: 9, at: 0, next: nil).isEmpty)
        #expect(update(&watch, end: nil, at: 50).isEmpty)
        #expect(update(&watch, end: 9, at: 60) == [.tell(place, behind: 4)])
        #expect(update(&watch, end: nil, at: 70) == [.over(place)])
        #expect(update(&watch, end: 9, at: 80) == [.tell(place, behind: 4)])
        #expect(update(&watch, end: 9, at: 90, next: nil) == [.over(place)])
        // A partition of which nothing is known yet has everything before it.
        #expect(update(&watch, end: 9, at: 92, next: .some(nil)) == [.tell(place, behind: 9)])
        watch.end(place)
        #expect(update(&watch, end: 9, at: 200) == [.over(place)])
        #expect(update(&watch, end: 9, at: 300).isEmpty)
    }

    @Test func silenceBehindAFullQueueMeansNothing() {
        var watch = watch()
        #expect(update(&watch, end: 9, at: 0) == [.tell(place, behind: 4)])
        watch.excuseAll()
        #expect(update(&watch, end: 9, at: 6) == [.over(place), .tell(place, behind: 4)])
        #expect(update(&watch, end: 9, at: 10.9).isEmpty)
    }
}
