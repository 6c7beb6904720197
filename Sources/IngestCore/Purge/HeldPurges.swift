import GraphCore
import RecordDecoding

/// Purges by age that wait for an operator, as the store knows them.
package struct HeldPurges: Equatable, Sendable {
    /// The gap between two commits that holds them.
    package let gap: PurgeGuard.Gap
    /// The number of records that are too old by the clock, by kind.
    package let due: [AgedPart: Int]

    /// The key under which the store keeps the guard.
    static let key = "purges"
    /// The key under which the store keeps the gap that was confirmed last.
    static let confirmedKey = "purgesConfirmed"

    package init(gap: PurgeGuard.Gap, due: [AgedPart: Int]) { (self.gap, self.due) = (gap, due) }

    /// Reads the state of a store; nil where nothing is held.
    ///
    /// - Throws: `StoreError`.
    package init?(_ context: ReadContext) throws {
        guard let held = try context.note(Self.key).flatMap({ PurgeGuard($0) }), let gap = held.gap,
            try context.note(Self.confirmedKey) != gap.text
        else { return nil }
        self.init(gap: gap, due: held.due)
    }

    /// The thing in a few words.
    package static let title = "purges by age are held"

    /// The reason, with the number of records that are too old by the clock.
    package var reason: String {
        let counts = AgedPart.allCases.compactMap { part in due[part].map { part.number($0) } }
        let known = counts.isEmpty ? "" : "; by the clock \(counts.joined(separator: ", ")) are too old"
        let (from, to) = (Timestamp.text(gap.from), Timestamp.text(gap.to))
        return "between two commits the clock went from \(from) to \(to)\(known)"
    }

    /// The remedy.
    package static let remedy =
        "Compare the machine's clock. If it is right, confirm with 'ingest-worker history confirm'"

    /// The reason and the remedy in sentences.
    package var sentences: String { "\(Self.title): \(reason). \(Self.remedy)." }
}

extension HeldPurges: JSONWritable {
    /// The times and counts as a JSON object.
    package var json: String {
        var object = JSONObject(["from": Timestamp.text(gap.from), "to": Timestamp.text(gap.to)])
        for part in AgedPart.allCases { object.add(part.rawValue, due[part] ?? 0) }
        return object.json
    }
}

extension HeldPurges {
    /// Reads another process's report of held purges; nil where it sent none.
    init?(_ json: JSONValue) {
        func time(_ name: String) -> Int64? { json.member(named: name)?.string.flatMap { Timestamp.microseconds($0) } }
        guard let from = time("from"), let to = time("to") else { return nil }
        var due: [AgedPart: Int] = [:]
        for part in AgedPart.allCases {
            due[part] = json.member(named: part.rawValue)?.int64.flatMap { Int(exactly: $0) }
        }
        self.init(gap: PurgeGuard.Gap(from: from, to: to), due: due)
    }
}

extension WriterContext {
    /// Lets purges go on that are held, with the next commit; nil where none are.
    ///
    /// - Returns: the purges that were held, or nil.
    /// - Throws: `StoreError`.
    func confirmPurges() throws -> HeldPurges? {
        guard let held = try store.read({ try HeldPurges($0) }) else { return nil }
        try putNote(HeldPurges.confirmedKey, held.gap.text)
        return held
    }
}
