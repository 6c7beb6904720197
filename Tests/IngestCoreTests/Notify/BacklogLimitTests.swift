import Testing

@testable import IngestCore

@Suite struct BacklogLimitTests {
    @Test func `reading stops at the limit and resumes where the machine says`() {
        var limit = BacklogLimit(maximum: 100, resumesAt: 89)
        limit.counted(99)
        #expect(!limit.isFull)
        limit.added(1)
        #expect(limit.isFull)
        limit.counted(5000)
        #expect(limit.isFull)
        limit.counted(90)
        #expect(limit.isFull)
        limit.delivered(1)
        #expect(!limit.isFull && limit.waiting == 89)
        limit.counted(100)
        #expect(limit.isFull)
    }

    @Test(arguments: 1...9) func `a small limit goes on once nothing waits`(maximum: Int) {
        var limit = BacklogLimit(maximum: maximum, resumesAt: maximum / 2)
        limit.added(maximum)
        #expect(limit.isFull)
        limit.delivered(maximum + 3)
        #expect(!limit.isFull && limit.waiting == 0)
    }

    @Test func `a limit of 0 is none`() {
        var limit = BacklogLimit(maximum: 0, resumesAt: 0)
        limit.added(1_000_000)
        #expect(!limit.isFull && limit.waiting == 1_000_000)
    }
}
