import GraphCore
import Logging

/// A purge under way: it looks at the commits since the last one, counts, then removes history, tombstones and audit. It
/// does a small batch at a time, so that no chunk waits for it. ``PurgeGuard`` decides, and the store keeps its decision.
struct PurgeStep {
    /// The next kind of work.
    private enum Stage {
        case looking
        case counting(TombstoneSweep)
        case removing(AgedPart)
        case sweeping(TombstoneSweep)
    }

    private let ages: [AgedPart: Int64]
    private let longestGap: Int64
    /// Whether a purge is due; otherwise the step only looks at the commits.
    private let isDue: Bool
    private var stage = Stage.looking
    private var state: PurgeGuard
    /// The gap that held purges at the begin.
    private let formerGap: PurgeGuard.Gap?
    private var counts: [AgedPart: (total: Int, old: Int)] = [:]
    private var removed: [AgedPart: Int] = [:]
    private var entry: AuditEntry?

    private static let dayMicroseconds: Int64 = 86_400_000_000
    private static let pageCount = 1000
    private static let sweepCount = 10_000

    /// - Throws: `StoreError`.
    init(_ configuration: WorkerConfiguration, _ store: Store, isDue: Bool = true) throws {
        self.isDue = isDue
        func age(_ days: Int) -> Int64? { days == 0 ? nil : Int64(days) * Self.dayMicroseconds }
        let history = configuration.history.keepDays
        var ages = [AgedPart.history: Int64(history) * Self.dayMicroseconds]
        (ages[.tombstones], ages[.audit]) = (age(configuration.tombstones.keepDays), age(configuration.audit.keepDays))
        self.ages = ages
        longestGap = Int64(max(1, history)) * Self.dayMicroseconds
        state = try store.read { try PurgeGuard($0) }
        formerGap = state.gap
    }

    /// The number of removed records by kind.
    var removedCounts: [AgedPart: Int] { removed }

    /// The gap that holds purges, or nil.
    var gap: PurgeGuard.Gap? { state.gap }

    /// Does the next batch, and returns whether there is more to do.
    ///
    /// - Parameters:
    ///   - clock: the clock's microseconds since 1970 UTC.
    ///   - trusted: the time from which ages count; what an operator vouches for is added.
    mutating func next(
        _ writer: WriterContext, clock: Int64, uptime: Double, _ trusted: inout TrustedTime, _ logger: Logger
    ) throws -> Bool {
        switch stage {
        case .looking: return try look(writer, clock: clock, uptime: uptime, &trusted)
        case .counting(let sweep):
            // A hold counts the records that the clock makes old.
            let now = state.gap == nil ? trusted.now(clock: clock, uptime: uptime) : clock
            return try count(writer, from: sweep, now: now, clock: clock, logger)
        case .removing(let part):
            let now = trusted.now(clock: clock, uptime: uptime)
            if try remove(part, from: TombstoneSweep(), writer, now: now, logger) { return true }
            return try advance(after: part, writer, logger)
        case .sweeping(let sweep):
            let now = trusted.now(clock: clock, uptime: uptime)
            if try remove(.tombstones, from: sweep, writer, now: now, logger) { return true }
            return try advance(after: .tombstones, writer, logger)
        }
    }

    // MARK: Looking

    /// Notes the times of the commits since the last look, and of this look itself.
    private mutating func look(
        _ writer: WriterContext, clock: Int64, uptime: Double, _ trusted: inout TrustedTime
    ) throws -> Bool {
        let (page, confirmation) = try writer.store.read { [state] context in
            let selection = HistorySelection(after: state.token)
            return (
                try context.session.transactions(selection, limit: Self.pageCount),
                try context.note(HeldPurges.confirmedKey)
            )
        }
        for transaction in page {
            state.committed(at: transaction.time, limit: longestGap)
            state.token = transaction.token
        }
        if page.count == Self.pageCount { return true }
        state.committed(at: clock, limit: longestGap)
        if let time = state.confirmed(confirmation) { trusted.witness(time, uptime: uptime) }
        try writer.putNote(HeldPurges.key, "\(state)")
        try writer.commit()
        stage = .counting(TombstoneSweep())
        return isDue || state.gap != formerGap
    }

    // MARK: Counting

    private mutating func count(
        _ writer: WriterContext, from sweep: TombstoneSweep, now: Int64, clock: Int64, _ logger: Logger
    ) throws -> Bool {
        if let age = ages[.tombstones] {
            let result = try writer.examineTombstones(
                savedBefore: now - age, from: sweep, limit: Self.sweepCount, countsOnly: true)
            let former = counts[.tombstones] ?? (0, 0)
            counts[.tombstones] = (former.total + result.examinedCount, former.old + result.removedCount)
            if let next = result.next {
                stage = .counting(next)
                return true
            }
        }
        try writer.store.read { context in
            if let age = ages[.history] { counts[.history] = try context.historyCounts(before: now - age) }
            if let age = ages[.audit] {
                counts[.audit] = (try context.auditCount(before: .max), try context.auditCount(before: now - age))
            }
        }
        guard let gap = state.gap else {
            stage = .removing(.history)
            return true
        }
        try hold(gap, writer, clock: clock, logger)
        return false
    }

    private mutating func hold(_ gap: PurgeGuard.Gap, _ writer: WriterContext, clock: Int64, _ logger: Logger) throws {
        state.due = counts.mapValues { $0.old }
        let held = HeldPurges(gap: gap, due: state.due)
        try writer.inOneCommit {
            try writer.putNote(HeldPurges.key, "\(state)")
            if gap == formerGap { return }
            var entry = AuditEntry(time: clock, actor: Self.actor, action: "purge.held", request: held.json)
            entry.result = AuditEntry.outcome(.done, at: clock)
            _ = try writer.put(entry)
        }
        logger.warning(
            "\(HeldPurges.title)", metadata: ["reason": "\(held.reason)", "remedy": "\(HeldPurges.remedy)"])
    }

    private static let actor = "the worker"

    // MARK: Removing

    /// Removes a batch of a kind, and returns whether others follow.
    private mutating func remove(
        _ part: AgedPart, from sweep: TombstoneSweep, _ writer: WriterContext, now: Int64, _ logger: Logger
    ) throws -> Bool {
        guard let age = ages[part], let counts = counts[part], counts.old > 0,
            case .remove(let time, let most) = state.action(for: part, age: age, total: counts.total, now: now)
        else { return false }
        var hasMore = false
        try writer.inOneCommit {
            let count: Int
            (count, hasMore) = try removeBatch(part, before: time, atMost: most, from: sweep, writer, logger)
            if count == 0 { return }
            state.removed(count, of: part)
            removed[part, default: 0] += count
            try writer.putNote(HeldPurges.key, "\(state)")
            try save(writer)
        }
        return hasMore
    }

    private mutating func removeBatch(
        _ part: AgedPart, before time: Int64, atMost most: Int, from sweep: TombstoneSweep, _ writer: WriterContext,
        _ logger: Logger
    ) throws -> (count: Int, hasMore: Bool) {
        let limit = min(most, Self.pageCount)
        switch part {
        case .history:
            var purge = HistoryPurge(before: .time(time))
            purge.transactionLimit = limit
            let result = try writer.purgeHistory(purge)
            guard result.isFinished else { return (result.transactionCount, true) }
            for (name, token) in result.holdingCursors.sorted(by: { $0.key < $1.key }) {
                logger.warning(
                    "a cursor holds old history", metadata: ["cursor": "\(name)", "token": .stringConvertible(token)])
            }
            return (result.transactionCount, false)
        case .tombstones:
            // No more go than are looked at.
            let result = try writer.purgeTombstones(savedBefore: time, from: sweep, limit: min(most, Self.sweepCount))
            if let next = result.next { stage = .sweeping(next) }
            return (result.removedCount, result.next != nil)
        case .audit:
            let count = try writer.purgeAudit(before: time, limit: limit)
            return (count, count == limit)
        }
    }

    /// Saves the purge's audit entry, with the commit of a batch.
    private mutating func save(_ writer: WriterContext) throws {
        let time = writer.now
        var entry = entry ?? AuditEntry(time: time, actor: Self.actor, action: "purge", request: "{}")
        var result = JSONObject()
        for part in AgedPart.allCases { result.add(part.rawValue, removed[part] ?? 0) }
        entry.result = AuditEntry.outcome(.done, at: time, result: result.json)
        entry.id = try writer.put(entry)
        self.entry = entry
    }

    private mutating func advance(after part: AgedPart, _ writer: WriterContext, _ logger: Logger) throws -> Bool {
        switch part {
        case .history: stage = .removing(.tombstones)
        case .tombstones: stage = .removing(.audit)
        case .audit:
            if removed.isEmpty { return false }
            let rest = AgedPart.allCases.compactMap { part -> String? in
                let rest = (counts[part]?.old ?? 0) - (removed[part] ?? 0)
                return rest > 0 ? part.number(rest) : nil
            }
            var metadata: Logger.Metadata = [:]
            for part in AgedPart.allCases { metadata[part.rawValue] = .stringConvertible(removed[part] ?? 0) }
            if !rest.isEmpty { metadata["stay"] = "\(rest.joined(separator: ", "))" }
            logger.info("old records were purged", metadata: metadata)
            return false
        }
        return true
    }
}

extension PurgeGuard {
    /// Reads the guard of a store. A store that has none yet begins with its last transaction.
    fileprivate init(_ context: ReadContext) throws {
        if let stored = try context.note(HeldPurges.key).flatMap({ PurgeGuard($0) }) {
            self = stored
            return
        }
        self.init()
        token = try context.lastToken()
        if let last = try context.stored(token) { committed(at: last.time, limit: .max) }
    }
}

extension TrustedTime {
    /// Reads the time from which ages count at a start.
    ///
    /// - Throws: `StoreError`.
    init(_ context: ReadContext, clock: Int64, uptime: Double) throws {
        let lastTransaction = try context.stored(context.lastToken())?.time
        let lastLook = try PurgeGuard(context).lastCommit
        self.init(lastCommit: [lastTransaction, lastLook].compactMap(\.self).max(), clock: clock, uptime: uptime)
    }
}

extension ReadContext {
    /// Counts the transactions of the history, and those before the first, by token, that is not older than a time.
    fileprivate func historyCounts(before time: Int64) throws -> (total: Int, old: Int) {
        let (purged, last) = (try purgedToken(), try lastToken())
        var young = HistorySelection(after: purged)
        young.since = time
        let kept = try session.transactions(young, limit: 1).first.map { $0.token - 1 } ?? last
        return (Int(last - purged), Int(kept - purged))
    }
}
