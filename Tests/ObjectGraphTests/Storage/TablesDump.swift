import ObjectGraph

@testable import GraphCore
@testable import MemoryStorage

extension MemoryTables {
    /// The whole content as lines, with keys, tokens and times: equal storages give equal lines.
    ///
    /// The changes of one transaction are sorted: their order follows that of the rows that a storage finds, which is free.
    func lines(_ model: ObjectModel) -> [String] {
        var lines: [String] = []
        for root in model.rootEntities {
            lines += rows[root.index].all.map { row in
                let values = row.values.map(\.shown).joined(separator: " ")
                return "\(root.name) \(row.pk) \(row.entity.name) \(row.isPlaceholder) \(values)"
            }
            lines += tombstones[root.index].map { identity, found in
                "tombstone \(root.name) \(identity.shown) \(found.tombstone.version.shown) "
                    + "\(found.tombstone.time ?? -1) \(found.saved)"
            }.sorted()
        }
        for join in model.joinTables {
            lines += links[join.index].map { pair, places in
                "\(join.name) \(pair.owner) \(pair.destination) \(places.destination ?? -1) \(places.owner ?? -1)"
            }.sorted()
        }
        return lines + historyLines + recordLines
    }

    private var historyLines: [String] {
        let transactions = transactions.map {
            "transaction \($0.token) \($0.time) \($0.author) \($0.context ?? "-") \($0.source ?? "-") "
                + "\($0.firstChange) \($0.changeCount)"
        }
        let lines =
            changes.map { stored in
                let change = stored.change
                return "change \(change.token) \(change.entity) \(change.pk) \(change.identity.shown) "
                    + "\(change.kind) \(change.properties) \(change.tombstone ?? "-")"
            }.sorted() + (changes.isEmpty ? [] : ["numbers \(changes.map(\.id))"])
        let ranges = ranges.map { stored in
            let range = stored.range
            return "range \(stored.id) \(stored.token) \(stored.entity) \(range.first)...\(range.last) \(range.count) "
                + "\(range.objects ?? "-") \(range.kind) \(range.properties ?? "-")"
        }
        return transactions + lines + ranges + cursors.map { "cursor \($0.name) \($0.token) \($0.time)" }
    }

    private var recordLines: [String] {
        let letters = deadLetters.map {
            "letter \($0.id) \($0.time) \($0.topic) \($0.partition) \($0.offset) \($0.stage) \($0.code) \($0.reason) "
                + "\($0.key ?? []) \($0.value ?? []) \($0.valueBytes) \($0.headers ?? "-") \($0.attempts) "
                + "\($0.timestampMilliseconds ?? -1)"
        }
        let notes = conflicts.map {
            "conflict \($0.id) \($0.token) \($0.time) \($0.kind) \($0.entity) \($0.identity.shown) "
                + "\($0.property ?? "-") \($0.local ?? "-") \($0.stored ?? "-") \($0.decision) \($0.source ?? "-")"
        }
        let places = positions.map { "position \($0.topic) \($0.partition) \($0.nextOffset) \($0.detail ?? "-")" }
        return places + letters + notes + sentDeadLetters.map { "sent \($0.key) \($0.value)" }.sorted()
    }
}
