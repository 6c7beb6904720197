import Testing

@testable import IngestCore

/// Which topics are not there, and which have come back.
@Suite struct TopicWatchTests {
    @Test func `the watch reports a topic when it goes and when it returns`() {
        var watch = TopicWatch(["a", "b"])
        func update(_ topics: [String: Set<Int32>]) -> [[String]] {
            let changes = watch.update((topics, watch.generation + 1))
            return [changes.gone, changes.back]
        }
        #expect(update(["a": [0], "b": [0], "c": [0]]) == [[], []])
        // One without partitions is not there.
        #expect(update(["a": [], "c": [0]]) == [["a", "b"], []])
        #expect(watch.isGone("a") && watch.isGone("b") && !watch.isGone("c"))
        #expect(update(["a": [0]]) == [[], ["a"]])
        #expect(update(["b": [0, 1]]) == [["a"], ["b"]])
        #expect(watch.generation == 4 && !watch.isGone("b"))
    }

    @Test func `the watch reports a topic that was never there`() {
        var watch = TopicWatch(["later"])
        #expect(watch.update(([:], 1)).gone == ["later"])
        #expect(watch.update(([:], 2)).gone == [])
        #expect(watch.update((["later": [0]], 3)).back == ["later"])
    }
}
