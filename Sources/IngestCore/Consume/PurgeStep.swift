import Logging
import ObjectGraph

/// A purge under way: history first, then tombstones, a small batch at a time, so that no chunk waits for it.
struct PurgeStep {
    private let historyAge: Int64
    private let tombstoneAge: Int64?
    private var isHistoryDone = false
    private var sweep = TombstoneSweep()

    private static let dayMicroseconds: Int64 = 86_400_000_000

    static func begin(_ configuration: WorkerConfiguration) -> PurgeStep {
        PurgeStep(
            historyAge: Int64(configuration.history.keepDays) * dayMicroseconds,
            tombstoneAge: configuration.tombstones.keepDays == 0
                ? nil : Int64(configuration.tombstones.keepDays) * dayMicroseconds)
    }

    /// Purges one batch, and returns whether there is more to do.
    ///
    /// - Parameter now: microseconds since 1970 UTC.
    mutating func purgeBatch(_ writer: WriterContext, now: Int64, _ logger: Logger) throws -> Bool {
        if !isHistoryDone {
            let result = try writer.purgeHistory(HistoryPurge(before: .time(now - historyAge)))
            isHistoryDone = result.isFinished
            if isHistoryDone {
                for (name, token) in result.holdingCursors.sorted(by: { $0.key < $1.key }) {
                    logger.warning(
                        "a cursor holds old history",
                        metadata: ["cursor": "\(name)", "token": .stringConvertible(token)])
                }
            }
            return !isHistoryDone || tombstoneAge != nil
        }
        guard let tombstoneAge else { return false }
        let result = try writer.purgeTombstones(savedBefore: now - tombstoneAge, from: sweep)
        guard let next = result.next else { return false }
        sweep = next
        return true
    }
}
