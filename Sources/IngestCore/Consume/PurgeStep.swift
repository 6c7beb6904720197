import Logging
import ObjectGraph

/// A purge under way: history, then tombstones, then the audit, a small batch at a time, so that no chunk waits for it.
struct PurgeStep {
    private enum Part {
        case history, tombstones, audit
    }

    private let historyAge: Int64
    private let tombstoneAge: Int64?
    private let auditAge: Int64?
    private var part = Part.history
    private var sweep = TombstoneSweep()

    private static let dayMicroseconds: Int64 = 86_400_000_000
    private static let auditBatch = 1000

    init(_ configuration: WorkerConfiguration) {
        historyAge = Int64(configuration.history.keepDays) * Self.dayMicroseconds
        func age(_ days: Int) -> Int64? { days == 0 ? nil : Int64(days) * Self.dayMicroseconds }
        (tombstoneAge, auditAge) = (age(configuration.tombstones.keepDays), age(configuration.audit.keepDays))
    }

    /// Purges one batch, and returns whether there is more to do.
    ///
    /// - Parameter now: microseconds since 1970 UTC.
    mutating func purgeBatch(_ writer: WriterContext, now: Int64, _ logger: Logger) throws -> Bool {
        switch part {
        case .history:
            let result = try writer.purgeHistory(HistoryPurge(before: .time(now - historyAge)))
            guard result.isFinished else { return true }
            for (name, token) in result.holdingCursors.sorted(by: { $0.key < $1.key }) {
                logger.warning(
                    "a cursor holds old history", metadata: ["cursor": "\(name)", "token": .stringConvertible(token)])
            }
            part = tombstoneAge == nil ? .audit : .tombstones
            return tombstoneAge != nil || auditAge != nil
        case .tombstones:
            guard let tombstoneAge else { return false }
            let result = try writer.purgeTombstones(savedBefore: now - tombstoneAge, from: sweep)
            if let next = result.next { sweep = next } else { part = .audit }
            return part == .tombstones || auditAge != nil
        case .audit:
            guard let auditAge else { return false }
            return try writer.purgeAudit(before: now - auditAge, limit: Self.auditBatch) == Self.auditBatch
        }
    }
}
