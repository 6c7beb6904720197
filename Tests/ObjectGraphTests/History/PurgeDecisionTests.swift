import Testing

@testable import GraphCore

/// The decision on the transactions that one batch of a purge removes.
@Suite struct PurgeDecisionTests {
    private let cursors = [
        StoredCursor(name: "slow", token: 3, time: 10), StoredCursor(name: "quick", token: 6, time: 30),
        StoredCursor(name: "ahead", token: 9, time: 30),
    ]

    private func result(_ decision: PurgeDecision) -> PurgeResult {
        var result = PurgeResult()
        decision.describe(in: &result)
        return result
    }

    @Test func `cursors before the bound hold what they have not read`() {
        let decision = PurgeDecision(HistoryPurge(before: .token(9)), through: 8, cursors)
        #expect(decision.allowed == 3 && decision.last == nil)
        #expect(result(decision) == PurgeResult(holdingCursors: ["slow": 3, "quick": 6]))
    }

    @Test func `only cursors behind the last removed transaction count as passed`() {
        var purge = HistoryPurge(before: .token(9))
        purge.passesCursorsSavedBefore = 20
        var decision = PurgeDecision(purge, through: 8, cursors)
        #expect(decision.allowed == 6)
        var goes = decision.take(token: 3, nextChange: 4, changeCount: 1)
        #expect(goes)
        #expect(result(decision).passedCursors.isEmpty && !result(decision).isFinished)
        for token in Int64(4)...6 {
            goes = decision.take(token: token, nextChange: token + 1, changeCount: 1)
            #expect(goes)
        }
        #expect(
            result(decision)
                == PurgeResult(transactionCount: 4, holdingCursors: ["quick": 6], passedCursors: ["slow": 3]))
    }

    @Test func `the first transaction goes, however many changes it has, and the limit keeps the next`() {
        var purge = HistoryPurge(before: .token(9))
        purge.changeLimit = 10
        var decision = PurgeDecision(purge, through: 8, [])
        let (first, second) = (
            decision.take(token: 1, nextChange: 12, changeCount: 11),
            decision.take(token: 2, nextChange: 13, changeCount: 1)
        )
        #expect(first && !second)
        #expect(decision.last?.token == 1 && decision.last?.nextChange == 12)
        #expect(result(decision) == PurgeResult(transactionCount: 1, isFinished: false))
    }
}
