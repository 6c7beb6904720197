import ObjectGraph
import Testing

@testable import IngestCore

/// How far the store is behind a partition's end; times are in microseconds since 1970 UTC.
@Suite struct PartitionLagTests {
    private typealias Measure = PartitionLag.Measure

    /// A position behind a record of this time in milliseconds.
    private func position(at milliseconds: Int) -> SourcePosition { PartitionFixture.position(10, last: milliseconds) }

    @Test func `a record that is missing is not older than the last one in the store`() {
        var lag = PartitionLag()
        lag.take(position(at: 5000))
        #expect(lag.measure(from: 10, to: 13, at: 9_500_000) == Measure(records: 3, seconds: 4.5))
        lag.take(position(at: 8000))
        #expect(lag.measure(from: 11, to: 13, at: 9_500_000) == Measure(records: 2, seconds: 1.5))
    }

    @Test func `a record that is missing has come after the partition was read to its end`() {
        var lag = PartitionLag()
        lag.take(position(at: 1000))
        // Nothing came for an hour.
        #expect(lag.measure(from: 10, to: 10, at: 3_600_000_000) == Measure(records: 0, seconds: 0))
        #expect(lag.measure(from: 10, to: 11, at: 3_601_000_000) == Measure(records: 1, seconds: 1))
    }

    @Test func `without a timestamp the age is not known until the end was reached once`() {
        var lag = PartitionLag()
        #expect(lag.measure(from: 0, to: 4, at: 1_000_000) == Measure(records: 4, seconds: nil))
        lag.take(SourcePosition(topic: "t", partition: 0, nextOffset: 2))
        #expect(lag.measure(from: 2, to: 4, at: 1_000_000) == Measure(records: 2, seconds: nil))
        _ = lag.measure(from: 4, to: 4, at: 2_000_000)
        #expect(lag.measure(from: 4, to: 5, at: 2_500_000) == Measure(records: 1, seconds: 0.5))
        lag.take(position(at: .max))
        #expect(lag.measure(from: 4, to: 5, at: 3_000_000) == Measure(records: 1, seconds: 1))
    }

    @Test func `a clock that is ahead, and an end that is old, make nothing negative`() {
        var lag = PartitionLag()
        lag.take(position(at: 9000))
        #expect(lag.measure(from: 10, to: 11, at: 1_000_000) == Measure(records: 1, seconds: 0))
        #expect(lag.measure(from: 10, to: 8, at: 1_000_000) == Measure(records: 0, seconds: 0))
    }
}
