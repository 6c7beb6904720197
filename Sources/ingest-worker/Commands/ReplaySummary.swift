import GraphCore
import IngestCore

/// The summary that a replay prints at its end.
struct ReplaySummary {
    var summary: IngestPipeline.Summary
    var results: [ReplayEngine.FileResult] = []
    var partitions: [TopicReplay.PartitionResult] = []
    var seconds: Double
    let model: ObjectModel

    private var rate: Int { seconds > 0 ? Int(Double(summary.records) / seconds) : 0 }

    var text: String {
        var lines: [String] = []
        for result in results {
            let resumed = result.resumedAfter > 0 ? " (resumed after \(result.resumedAfter))" : ""
            lines.append("\(result.path): \(counted(result.records, "record"))\(resumed)")
        }
        for result in partitions {
            lines.append(
                "\(result.partition): \(counted(result.records, "record")), from offset \(result.from) up to \(result.to)"
            )
        }
        lines.append(
            "\(counted(summary.applied, "event")) applied, \(summary.stale) stale, \(counted(summary.deadLetters, "dead letter")), "
                + "\(counted(summary.placeholders, "placeholder")) made")
        if summary.filtered > 0 { lines.append("\(counted(summary.filtered, "record")) filtered out") }
        for entity in model.entities {
            let counts = [ChangeKind.insert, .update, .delete].map { kind in
                summary.changes?.count(kind, entity: entity.index) ?? 0
            }
            if counts.allSatisfy({ $0 == 0 }) { continue }
            lines.append("  \(entity.name): \(counts[0]) inserted, \(counts[1]) updated, \(counts[2]) deleted")
        }
        lines.append("\(counted(summary.chunks, "chunk")) in \(counted(summary.commits, "commit")), \(rate) records/s")
        if summary.deadLetters > 0 {
            for (code, tally) in summary.deadLetterCodes.sorted {
                lines.append("  \(code): \(tally.count), the first at \(tally.place): \(tally.reason)")
            }
            lines.append("'ingest-worker dead-letters list' shows the dead letters with places and reasons.")
        }
        return lines.joined(separator: "\n")
    }

    /// The numbers of records and of their outcomes, as a JSON object.
    var counts: String {
        JSONObject([
            "records": summary.records, "applied": summary.applied, "stale": summary.stale,
            "deadLetters": summary.deadLetters,
        ]).json
    }

    var json: String {
        var changes = JSONObject()
        for entity in model.entities {
            var counts = JSONObject()
            for kind in [ChangeKind.insert, .update, .delete] {
                counts.add(kind.name, summary.changes?.count(kind, entity: entity.index) ?? 0)
            }
            changes.add(entity.name, counts)
        }
        let files = results.map {
            JSONObject(["path": $0.path, "records": $0.records, "resumedAfter": $0.resumedAfter])
        }
        let read = partitions.map {
            JSONObject([
                "topic": $0.partition.topic, "partition": $0.partition.partition, "from": $0.from, "to": $0.to,
                "records": $0.records,
            ])
        }
        let codes = summary.deadLetterCodes.sorted.map { code, tally in
            JSONObject(["code": code, "count": tally.count, "place": tally.place, "reason": tally.reason])
        }
        return JSONObject([
            "files": files, "partitions": read, "records": summary.records, "applied": summary.applied,
            "stale": summary.stale, "filtered": summary.filtered, "deadLetters": summary.deadLetters,
            "deadLetterCodes": codes, "placeholders": summary.placeholders, "chunks": summary.chunks,
            "commits": summary.commits, "seconds": seconds, "recordsPerSecond": rate, "changes": changes,
        ]).json
    }
}
