import Testing

@testable import GraphModel

@Suite struct CountedTests {
    @Test(arguments: [
        (1, "dead letter", "1 dead letter"), (0, "record", "0 records"), (2, "entity", "2 entities"),
        (2, "day", "2 days"),
        (1, "entity", "1 entity"), (3, "index", "3 indexes"), (2, "batch", "2 batches"),
        (2, "more partition", "2 more partitions"),
    ])
    func `a number of things has the ending of its noun`(_ count: Int, _ noun: String, _ text: String) {
        #expect(counted(count, noun) == text)
    }

    @Test func `the number may be written otherwise`() {
        #expect(counted(1200, "record", as: "1,200") == "1,200 records")
    }
}
