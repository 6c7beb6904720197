import Testing

@testable import IngestCore

/// Which topics have gone under a worker, and which have come back.
@Suite struct TopicWatchTests {
    @Test func aTopicThatIsReadIsToldWhenItGoesAndWhenItComesBack() {
        var watch = TopicWatch()
        func update(_ topics: [String: Set<Int32>]) -> [[String]] {
            let changes = watch.update((topics, watch.generation + 1), reading: ["a", "b"])
            return [changes.gone, changes.back]
        }
        #expect(update(["a": [0], "b": [0], "c": [0]]) == [[], []])
        // One without partitions is not there.
        #expect(update(["a": [], "c": [0]]) == [["a", "b"], []])
        #expect(update(["a": [0]]) == [[], ["a"]])
        #expect(update(["b": [0, 1]]) == [["a"], ["b"]])
        #expect(watch.generation == 4)
    }

    @Test func whatIsReadNoMoreIsStillKnownToBeGone() {
        var watch = TopicWatch()
        _ = watch.update(([:], 1), reading: ["a"])
        let changes = watch.update((["a": [0]], 2), reading: [])
        #expect(changes.back == ["a"] && changes.gone.isEmpty)
    }
}
