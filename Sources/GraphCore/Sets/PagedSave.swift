/// Saves a change of many objects a page at a time, with the effect of one save.
///
/// An object has one change in the history. The numbers of destinations are checked once all pages are saved.
///
/// The caller undoes everything where a call throws.
final class PagedSave {
    let session: any WriterSession
    let work: SetWork
    private var counters: StoreCounters
    private let updates = GatheredUpdates()
    private var failures = ValidationFailures()
    private var failedRules: Set<EventApplier.FailedRule> = []
    private var countChecks: Set<CountCheck> = []

    private var model: ObjectModel { session.model }

    /// The objects that are read in order to count destinations of each.
    private static let countedLength = 16

    /// A relationship, given by the positions of its entity and of itself, whose destinations have to be counted.
    private struct CountCheck: Hashable {
        let entity: Int
        let relationship: Int
        let pk: Int64
    }

    init(_ session: any WriterSession, _ work: SetWork) throws(StoreError) {
        self.session = session
        self.work = work
        counters = try session.counters()
    }

    /// Calls `body` with a registry of its own, checks the changes as those of an event, and saves them. Broken rules show in
    /// ``finish(into:)``.
    func page(_ body: (ObjectRegistry, EventApplier) throws -> Void) throws {
        let (registry, applier) = begin()
        try body(registry, applier)
        for check in applier.countChecks where !work.isLeaving(check.object) {
            noteCount(of: check.relationship, check.object.pk)
        }
        applier.countChecks = []
        // An object that another page deletes is not checked as a changed one.
        applier.journal.removeAll { entry in
            if case .state(let object, _) = entry { object.isAlive && work.isLeaving(object) } else { false }
        }
        try validate(applier)
        work.history.gatheredUpdates = updates
        defer { work.history.gatheredUpdates = nil }
        var tally = ChangeTally(entityCount: model.entities.count)
        try Saver(registry: registry, session: session, work: work).save(into: &tally)
        counters.hasTombstones = registry.storeHasTombstones
    }

    /// Notes that the number of an object's destinations has to be checked.
    func noteCount(of relationship: Relationship, _ pk: Int64) {
        countChecks.insert(CountCheck(entity: relationship.entityIndex, relationship: relationship.index, pk: pk))
    }

    /// Checks what is left to check, and writes the updates into the history.
    ///
    /// - Throws: ``ValidationFailures`` with all rules that the pages break.
    func finish(into tally: inout ChangeTally) throws {
        let checks = countChecks.sorted { ($0.entity, $0.pk, $0.relationship) < ($1.entity, $1.pk, $1.relationship) }
        for page in Pages(checks, length: Self.countedLength) {
            let (registry, applier) = begin()
            for check in page {
                guard let object = try registry.object(entity: check.entity, pk: check.pk) else { continue }
                applier.countChecks.append((object, model.entities[check.entity].relationships[check.relationship]))
            }
            try validate(applier)
        }
        try failures.check()
        try updates.write(session, work.history, into: &tally)
    }

    private func begin() -> (ObjectRegistry, EventApplier) {
        let registry = ObjectRegistry(session, model: model, setDeletionThreshold: .max)
        registry.take(counters, remembersAggregates: false)
        let applier = EventApplier(registry: registry, validators: work.validators)
        applier.begin()
        (applier.failures, applier.failedRules) = (failures, failedRules)
        return (registry, applier)
    }

    private func validate(_ applier: EventApplier) throws {
        do {
            try applier.validateTouched()
        } catch is ValidationFailures {
            // All pages tell what they break.
        }
        (failures, failedRules) = (applier.failures, applier.failedRules)
    }
}

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
