/// The updates of a save in pages. In memory are the keys of the objects, and each combination of changed properties once.
final class GatheredUpdates {
    private var texts: [String] = []
    private var numbers: [String: Int32] = [:]
    /// The number of the combination, by the position of the root and by primary key.
    private var updates: [Int: [Int64: Int32]] = [:]

    private static let pageLength = 1000

    func note(_ object: ChangedObject, properties: String) {
        let root = object.entity.rootIndex
        let former = updates[root]?[object.key].map { texts[Int($0)] }
        let text = former.map { Self.joined($0, properties, object.entity) } ?? properties
        updates[root, default: [:]][object.key] = number(of: text)
    }

    private func number(of text: String) -> Int32 {
        if let known = numbers[text] { return known }
        let number = Int32(texts.count)
        texts.append(text)
        numbers[text] = number
        return number
    }

    /// Returns the names of two lists, in the entity's order.
    private static func joined(_ first: String, _ second: String, _ entity: Entity) -> String {
        if first == second { return first }
        let names = Set((first + "," + second).split(separator: ",").map(String.init))
        let all = entity.slotNames.prefix(entity.propertySlotCount) + entity.relationships.map(\.name)
        var known: Set<String> = []
        return all.filter { names.contains($0) && known.insert($0).inserted }.joined(separator: ",")
    }

    /// Appends the change of each object that is still there.
    func write(
        _ session: any WriterSession, _ history: HistoryWriter, into tally: inout ChangeTally
    ) throws(StoreError) {
        for (root, numbers) in updates.sorted(by: { $0.key < $1.key }) {
            for keys in Pages(numbers.keys.sorted(), length: Self.pageLength) {
                var rows: [StoredRow] = []
                try session.rows(of: root, .primaryKeys(keys)) { rows.append($0) }
                for row in rows.sorted(by: { $0.pk < $1.pk }) {
                    guard let number = numbers[row.pk] else { continue }
                    let object = ChangedObject.row(
                        row.entity, key: row.pk, identity: row.values[row.entity.identitySlot])
                    try history.append(object, kind: .update, properties: texts[Int(number)])
                    tally.note(.update, entity: row.entity.index)
                }
            }
        }
    }
}

/// Elements in pages of a length, such as keys.
struct Pages<Element>: Sequence, IteratorProtocol {
    private var rest: ArraySlice<Element>
    private let length: Int

    init(_ elements: [Element], length: Int) {
        rest = elements[...]
        self.length = Swift.max(1, length)
    }

    mutating func next() -> [Element]? {
        if rest.isEmpty { return nil }
        defer { rest = rest.dropFirst(length) }
        return Array(rest.prefix(length))
    }
}
