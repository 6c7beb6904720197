import Testing

@testable import IngestCore

@Suite struct OutageTests {
    @Test func `an outage has a line at its beginning, one a minute, and one at its end`() {
        var outage = Outage()
        #expect(outage.failed(at: 100) == .began)
        // Ten tries a second for three minutes and a half.
        let later = (1...2_100).compactMap { outage.failed(at: 100 + Double($0) / 10) }
        #expect(
            later == [
                .lasts(seconds: 60, failures: 601), .lasts(seconds: 120, failures: 1_201),
                .lasts(seconds: 180, failures: 1_801),
            ])
        #expect(outage.isOpen)
        #expect(outage.succeeded(at: 311) == .ended(seconds: 211, failures: 2_101))
        #expect(!outage.isOpen)
    }

    @Test func `a failure that comes seldom has a line each time`() {
        var outage = Outage()
        #expect(outage.failed(at: 0) == .began)
        #expect(outage.failed(at: 90) == .lasts(seconds: 90, failures: 2))
        #expect(outage.failed(at: 140) == nil)
        #expect(outage.failed(at: 150) == .lasts(seconds: 150, failures: 4))
    }

    @Test func `a success without a failure has no line, and the next outage counts from its own beginning`() {
        var outage = Outage()
        #expect(outage.succeeded(at: 1) == nil)
        #expect(outage.failed(at: 2) == .began)
        #expect(outage.succeeded(at: 3) == .ended(seconds: 1, failures: 1))
        #expect(outage.succeeded(at: 4) == nil)
        #expect(outage.failed(at: 10) == .began)
        #expect(outage.failed(at: 69) == nil)
        #expect(outage.succeeded(at: 75) == .ended(seconds: 65, failures: 2))
    }
}

@Suite struct BrokenConnectionsTests {
    private typealias Notice = BrokenConnections.Notice

    @Test func `a broker that is away is told once another has answered, and not while none does`() {
        var connections = BrokenConnections()
        connections.failed("b:9092", reason: "refused", at: 10)
        // It may be the first sign that all are away: the question was put before.
        #expect(connections.answered(askedAt: 9, at: 11).isEmpty)
        #expect(
            connections.answered(askedAt: 12, at: 13) == [Notice(broker: "b:9092", reason: "refused", outage: .began)])
        #expect(connections.answered(askedAt: 14, at: 15).isEmpty)
    }

    @Test func `while no broker answers there is no line about one`() {
        var connections = BrokenConnections()
        for broker in ["a:1", "b:1", "c:1"] { connections.failed(broker, reason: "refused", at: 10) }
        connections.forgetNews()
        #expect(connections.answered(askedAt: 20, at: 21).isEmpty)
    }

    @Test func `a broker that stays away has a line a minute, and one after a minute without a failure`() {
        var connections = BrokenConnections()
        connections.failed("b:1", reason: "refused", at: 0)
        #expect(connections.answered(askedAt: 1, at: 2).map(\.outage) == [.began])
        var notices: [Outage.Notice] = []
        for time in stride(from: 10.0, through: 150, by: 10) {
            connections.failed("b:1", reason: "refused", at: time)
            notices += connections.answered(askedAt: time + 1, at: time + 2).map(\.outage)
        }
        #expect(notices == [.lasts(seconds: 60, failures: 7), .lasts(seconds: 120, failures: 13)])
        #expect(connections.answered(askedAt: 209, at: 210).isEmpty)
        #expect(connections.answered(askedAt: 211, at: 212).map(\.outage) == [.ended(seconds: 210, failures: 16)])
        #expect(connections.answered(askedAt: 213, at: 214).isEmpty)
    }
}
