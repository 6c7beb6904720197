import ObjectGraph
import Testing

@testable import IngestCore

/// Refused tokens leave few audit entries, however many come.
@Suite struct RefusedTokensTests {
    @Test func `the first refusal makes an entry at once, and a flood makes one an interval`() throws {
        var refused = RefusedTokens()
        #expect(!refused.isDue(at: 0))
        refused.note("10.0.0.1", at: 5)
        let taken = refused.take(at: 0)
        let first = try #require(taken)
        #expect(first.actor == "unknown at 10.0.0.1" && first.time == 5)
        #expect(
            first.summary.contains("http.unauthorized {\"10.0.0.1\":1}  failed: http.unauthorized, 1 request without"))
        for number in 0..<10_000 { refused.note("10.0.1.\(number % 20)", at: Int64(number)) }
        #expect(!refused.isDue(at: RefusedTokens.intervalSeconds - 1))
        let folded = refused.take(at: RefusedTokens.intervalSeconds)
        let second = try #require(folded)
        #expect(second.actor.hasSuffix(" and others") && second.request.utf8.count < 200)
        #expect(second.result?.contains("10000 requests without the operator's token") == true)
        #expect(!refused.isDue(at: 1e9))
    }
}
