import Testing

@testable import IngestCore

@Suite struct OutboxLimitTests {
    @Test func pausesAtTheLimitOnce() {
        var limit = OutboxLimit(maximumTransactions: 100)
        #expect(limit.update(waiting: 99) == nil && !limit.isFull)
        #expect(limit.update(waiting: 100) == .pause && limit.isFull)
        #expect(limit.update(waiting: 5000) == nil && limit.isFull)
    }

    @Test func goesOnATenthBelow() {
        var limit = OutboxLimit(maximumTransactions: 100)
        _ = limit.update(waiting: 100)
        #expect(limit.update(waiting: 99) == nil)
        #expect(limit.update(waiting: 90) == nil && limit.isFull)
        #expect(limit.update(waiting: 89) == .resume && !limit.isFull)
        #expect(limit.update(waiting: 0) == nil)
        #expect(limit.update(waiting: 100) == .pause)
    }

    @Test(arguments: 1...9) func aSmallLimitIsPassedToo(maximum: Int) {
        var limit = OutboxLimit(maximumTransactions: maximum)
        #expect(limit.update(waiting: Int64(maximum)) == .pause)
        #expect(limit.update(waiting: 0) == .resume)
    }

    @Test func zeroIsNoLimit() {
        var limit = OutboxLimit(maximumTransactions: 0)
        #expect(limit.update(waiting: .max) == nil && !limit.isFull)
    }
}
