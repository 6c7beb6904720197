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

    /// Calls `body` with a registry of its own, checks the changes like an event's, and saves them. Broken rules show
    /// in ``finish(into:)``.
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

    /// Makes the remaining checks, and writes the updates into the history.
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
