import GraphCore
import RecordDecoding

/// Tells how far the store is behind a partition's end, in records and in seconds.
///
/// A record that the store lacks is not older than the last one that it has. It has also come after the worker had read
/// the partition to its end. The later of these two times bounds its age.
struct PartitionLag: Sendable {
    /// The records behind a position.
    struct Measure: Sendable, Equatable {
        var records: Int64
        /// The age of the oldest record that is missing, at most; nil where it is not known.
        var seconds: Double?
    }

    /// The timestamp of the last record in the store, in microseconds since 1970 UTC.
    private var storedTime: Int64?
    /// When nothing was behind, in microseconds since 1970 UTC.
    private var currentTime: Int64?

    /// Notes the store's position in the partition; nil where the store has none.
    mutating func take(_ position: SourcePosition?) {
        let milliseconds = position.flatMap { LastRecord($0) }?.fingerprint.timestampMilliseconds
        storedTime = milliseconds.flatMap { TimeUnit.milliseconds.microseconds($0) }
    }

    /// Measures the distance between a position and the partition's end.
    ///
    /// - Parameter time: the present time, in microseconds since 1970 UTC.
    mutating func measure(from position: Int64, to end: Int64, at time: Int64) -> Measure {
        let records = max(0, end - position)
        guard records > 0 else {
            currentTime = time
            return Measure(records: 0, seconds: 0)
        }
        let since = [storedTime, currentTime].compactMap(\.self).max()
        // A producer's clock may be ahead.
        return Measure(records: records, seconds: since.map { max(0, (Double(time) - Double($0)) / 1_000_000) })
    }
}
