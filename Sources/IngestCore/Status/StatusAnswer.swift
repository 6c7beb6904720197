import ObjectGraph

/// The figures of the store that `/status` shows.
struct StoreFigures: Sendable {
    var positions: [SourcePosition] = []
    var token: Int64 = 0
    var deadLetters = 0
    /// The dead letters by code, where they are few enough to be counted for each answer.
    var deadLettersByCode: [(value: String, number: Double)]?
}

extension StoreFigures {
    /// Reads the figures of a snapshot.
    ///
    /// - Throws: `StoreError`.
    init(_ context: ReadContext) throws {
        (positions, token, deadLetters) = (
            try context.positions(), try context.lastToken(), try context.deadLetterCount()
        )
        if deadLetters <= Self.countedTogether {
            deadLettersByCode = DeadLetterCensus.byCode(try context.deadLetterGroups().map { ($0.code, $0.count) })
        }
    }

    /// The most dead letters whose codes an answer counts by itself.
    private static let countedTogether = 10_000
}

/// The answer to `/status`: the worker at one moment.
struct StatusAnswer {
    var version: String
    var startedAt: Int64
    var storePlace: String
    var modelName: String
    var figures: StoreFigures
    var notifiedToken: Int64?
    var checks: [HealthCheck]
    var faults: [HealthState.PartitionFault]
    var work: StoreWork?
    var recordsPerSecond: Double?
    var metrics: WorkerMetrics

    private var verdict: WorkerVerdict {
        WorkerVerdict(
            checks,
            WorkerVerdict.Figures(
                recordsPerSecond: recordsPerSecond, lag: metrics.lag, lagSeconds: metrics.lagSeconds,
                deadLetters: figures.deadLetters))
    }

    /// The report as a JSON object.
    var json: String {
        let passed = checks.map { "\(JSONText.string($0.name)):\($0.isOK)" }
        let byCode = deadLettersByCode.map { "\(JSONText.string($0.value)):\(Int($0.number))" }
        let failures = checks.filter { !$0.isOK }.map {
            "{\"check\":\(JSONText.string($0.name)),\"reason\":\(JSONText.string($0.reason ?? ""))}"
        }
        return """
            {"version":"\(version)","startedAt":"\(Timestamp.text(startedAt))",\
            "ready":\(checks.allSatisfy { $0.isOK }),"verdict":\(verdict.json),\
            "work":\(work?.json ?? "null"),\
            "failures":[\(failures.joined(separator: ","))],"checks":{\(passed.joined(separator: ","))},\
            "store":{"path":\(JSONText.string(storePlace)),"model":\(JSONText.string(modelName)),\
            "bytes":\(Int(metrics.storeBytes.value)),"walBytes":\(Int(metrics.walBytes.value))},\
            "history":{"token":\(figures.token),"notified":\(notifiedToken.map { "\($0)" } ?? "null")},\
            "counts":{"records":\(metrics.records.value),"stale":\(metrics.stale.value),\
            "placeholders":\(metrics.placeholders.value),"chunks":\(metrics.chunks.value),\
            "commits":\(metrics.commits.value),"notifications":\(metrics.notifications.value)},\
            "deadLetters":\(figures.deadLetters),"deadLettersByCode":{\(byCode.joined(separator: ","))},\
            "positions":[\(places.joined(separator: ","))]}
            """
    }

    /// The dead letters by code: those of the last census only where they add up to the present number.
    private var deadLettersByCode: [(value: String, number: Double)] {
        if let own = figures.deadLettersByCode { return own }
        let kept = metrics.deadLettersKept.all
        let sum = kept.reduce(0) { $0 + Int($1.number) }
        return sum == figures.deadLetters ? kept : []
    }

    /// The positions, each with the lag, the state and its reason where these are known. While the whole worker reads
    /// nothing, an assigned partition waits.
    private var places: [String] {
        // An assigned partition has a series, also while its lag is not known.
        let lags = Dictionary(metrics.consumerLag.sorted.map { ($0.values, $0.series.value) }) { first, _ in first }
        let ages = Dictionary(metrics.consumerLagSeconds.sorted.map { ($0.values, $0.series.value) }) { first, _ in
            first
        }
        let stop = verdict.stop
        return figures.positions.map { position in
            let found = lags[[position.topic, "\(position.partition)"]]
            let lag = found.flatMap { $0.isNaN ? nil : Int($0) }
            let seconds = ages[[position.topic, "\(position.partition)"]].flatMap { $0.isNaN ? nil : $0 }
            let fault = faults.first {
                $0.topic == position.topic && ($0.partition == position.partition || $0.partition < 0)
            }
            let isKept = fault == nil && found != nil && stop != nil
            let state = fault?.state.rawValue ?? (found == nil ? "unassigned" : isKept ? "waiting" : "reading")
            let reason = fault?.reason ?? (isKept ? stop?.title : nil)
            return "{\"topic\":\(JSONText.string(position.topic)),\"partition\":\(position.partition),"
                + "\"nextOffset\":\(position.nextOffset),\"lag\":\(lag.map { "\($0)" } ?? "null"),"
                + "\"lagSeconds\":\(seconds.map { "\(($0 * 10).rounded() / 10)" } ?? "null"),"
                + "\"state\":\"\(state)\",\"reason\":\(reason.map { JSONText.string($0) } ?? "null")}"
        }
    }
}
