import Testing

@testable import IngestCore

@Suite struct LogGrowthTests {
    /// The sizes, in megabytes, that are told of those that come one after the other.
    private func told(_ megabytes: [Int]) -> [Int] {
        var growth = LogGrowth()
        return megabytes.filter { growth.isWorthTelling(bytes: $0 << 20) }
    }

    @Test func `a log of usual size is not reported`() { #expect(told([0, 66, 262, 511]).isEmpty) }

    @Test func `a large log is reported once and at each doubling`() {
        #expect(told([600, 700, 1000, 1100, 2000, 5000, 6000]) == [600, 1100, 5000])
    }

    @Test func `a log that was small in between is reported again`() {
        #expect(told([600, 400, 601, 66, 602]) == [600, 602])
    }
}
