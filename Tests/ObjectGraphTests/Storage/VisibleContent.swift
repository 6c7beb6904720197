import ObjectGraph
import TestSupport

@testable import GraphCore

/// All that a snapshot says of a store, as lines: equal stores give equal lines.
enum VisibleContent {
    static func lines(_ context: ReadContext) throws -> [String] {
        let session = context.session
        var lines = try SharedStore.lines(context)
        for entity in context.model.entities { lines.append("count \(entity.name) \(try session.count(entity))") }
        for root in context.model.rootEntities {
            lines += try session.storedRows(root, primaryKeys: Array(1...60)).sorted { $0.pk < $1.pk }.map {
                "row \(root.name) \(text($0))"
            }
        }
        lines += try session.cursors().map { "cursor \($0.name) \($0.token) \($0.time)" }
        lines += try session.positions().map {
            "position \($0.topic) \($0.partition) \($0.nextOffset) \($0.detail ?? "-")"
        }
        lines += try session.deadLetters(DeadLetterSelection(), after: 0, limit: .max, valueLimit: nil).map {
            "letter \($0)"
        }
        lines += try session.conflicts(after: 0, limit: .max).map { "conflict \($0)" }
        lines += try session.auditEntries(before: .max, key: nil, limit: .max).map { "audit \($0)" }
        for number in 0..<2 {
            lines.append("sent \(number) \(try session.sentDeadLetter(topic: "letters \(number)"))")
            lines.append("note \(number) \(try session.note("note \(number)") ?? "-")")
        }
        lines.append("tokens \(try session.lastToken() ?? -1) \(try session.purgedToken())")
        lines += try session.transactions(HistorySelection(), limit: .max).map { "transaction \($0)" }
        return lines
    }

    static func text(_ row: StoredRow) -> String {
        "\(row.pk) \(row.entity.name) \(row.isPlaceholder) " + row.values.map(\.shown).joined(separator: " ")
    }

    static func text(_ answer: ReadAnswer) -> String {
        switch answer {
        case .row(let row): text(row.stored)
        case .link(let pair, let places):
            "\(pair.owner)-\(pair.destination) at \(places.destination ?? -1) \(places.owner ?? -1)"
        case .place(let owner, let greatest): "place \(owner) \(greatest)"
        case .tombstone(let root, let identity, let tombstone):
            "tombstone \(root) \(identity.shown) \(tombstone.version.shown) \(tombstone.time ?? -1)"
        }
    }

    /// The answers to questions that a seed decides.
    static func answers(_ context: ReadContext, seed: UInt64) throws -> String {
        var random = SeededRandom(seed: seed)
        let session = context.session
        func number(_ limit: Int) -> Int { random.number(below: limit) }
        var selection = HistorySelection()
        if number(2) == 0 { selection.after = Int64(number(5)) }
        if number(3) == 0 { selection.since = 1_000_000_000 + Int64(number(40)) * 1_000 }
        if number(3) == 0 { selection.before = 1_000_000_000 + Int64(number(60)) * 1_000 }
        if number(3) == 0 { selection.author = "author \(number(2))" }
        if number(4) == 0 { selection.context = "context" }
        if number(3) == 0 { selection.kinds = [.insert, .delete] }
        if number(3) == 0 { selection.entities = [["Person"], ["Guest", "Member"]][number(2)] }
        if number(3) == 0 { selection.keys = [1, 2, 90] }
        var letters = DeadLetterSelection()
        if number(3) == 0 { letters.partition = Int32(number(2)) }
        if number(3) == 0 { letters.stage = ["decode", "apply"][number(2)] }
        if number(3) == 0 { letters.code = "code \(number(3))" }
        if number(3) == 0 { letters.reason = "N 10000\(number(3))" }
        let (limit, after) = (number(4), Int64(number(4)))
        var reasons: [String] = []
        try session.deadLetterReasons(letters) { reasons.append("\($0)") }
        let person = SessionKinds(context.model)[number(3)]
        return """
            \(try session.transactions(selection, limit: limit).map { $0.token }) \
            \(try session.changes(selection, limit: limit).map { "\($0.id) \($0.change)" }) \
            \(try session.changeCount(selection)) \(try session.unread(after: after)) \
            \(try session.deadLetterCount(letters, after: after)) \(try session.lastDeadLetterID()) \
            \(try session.deadLetters(letters, after: after, limit: limit, valueLimit: 1)) \
            \(try session.deadLetterSizes(after: after, limit: limit)) \
            \(try session.deadLetterSizesByPlace(letters)) \(reasons.sorted()) \
            \(try session.conflicts(after: after, limit: limit).map(\.id)) \
            \(try session.auditEntries(before: after + 2, key: nil, limit: limit).map(\.id)) \
            \(try session.auditCount(before: 1_000_000_000 + Int64(number(60)) * 1_000)) \
            \(try session.primaryKeys(person, identity: .text("p\(number(7))")))
            """
    }
}
