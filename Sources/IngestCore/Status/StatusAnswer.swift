import KafkaClient
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
    var storeLocation: String?
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
                metrics, faults: faults, recordsPerSecond: recordsPerSecond, deadLetters: figures.deadLetters))
    }

    /// The report as a JSON object.
    var json: String {
        let failures = checks.filter { !$0.isOK }.map { JSONObject(["check": $0.name, "reason": $0.reason ?? ""]) }
        var passed = JSONObject()
        for check in checks { passed.add(check.name, check.isOK) }
        var byCode = JSONObject()
        for code in deadLettersByCode { byCode.add(code.value, Int(code.number)) }
        let store = JSONObject([
            "path": storePlace, "location": storeLocation, "model": modelName, "bytes": Int(metrics.storeBytes.value),
            "walBytes": Int(metrics.walBytes.value),
        ])
        let counts = JSONObject([
            "records": metrics.records.value, "stale": metrics.stale.value,
            "placeholders": metrics.placeholders.value, "chunks": metrics.chunks.value,
            "commits": metrics.commits.value, "notifications": metrics.notifications.value,
        ])
        return JSONObject([
            "version": version, "startedAt": Timestamp.text(startedAt), "ready": failures.isEmpty,
            "verdict": verdict, "work": work, "failures": failures,
            "checks": passed, "store": store,
            "history": JSONObject(["token": figures.token, "notified": notifiedToken]), "counts": counts,
            "deadLetters": figures.deadLetters, "deadLettersByCode": byCode, "positions": places,
        ]).json
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
    private var places: [JSONObject] {
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
            let fault = faults.first { $0.concerns(TopicPartition(position.topic, position.partition)) }
            let isKept = fault == nil && found != nil && stop != nil
            let state = fault?.state.rawValue ?? (found == nil ? "unassigned" : isKept ? "waiting" : "reading")
            let reason = fault?.reason ?? (isKept ? stop?.title : nil)
            return JSONObject([
                "topic": position.topic, "partition": position.partition, "nextOffset": position.nextOffset,
                "lag": lag, "lagSeconds": seconds.map { ($0 * 10).rounded() / 10 }, "state": state, "reason": reason,
            ])
        }
    }
}
