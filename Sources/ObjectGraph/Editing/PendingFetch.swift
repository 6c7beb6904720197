import GraphCore

/// A fetch of an editing context that regards what is not saved.
///
/// The store is asked for the objects that the context did not touch; those it did are judged in memory and put in
/// their places. A limit holds for both together: the store is asked for as many more as there are touched ones.
struct PendingFetch {
    private let request: CheckedFetchRequest
    private let context: EditingContext
    private let reader: ReadContext
    /// The objects that are not as the store has them, by their primary keys.
    private let pending: [Int64: ContextObject]
    private let now: Int64

    init(
        _ request: CheckedFetchRequest, _ context: EditingContext, _ reader: ReadContext, _ pending: [ContextObject]
    ) {
        self.request = request
        self.context = context
        self.reader = reader
        self.pending = Dictionary(pending.map { ($0.pk, $0) }) { first, _ in first }
        now = request.time
    }

    /// Returns the primary keys of the objects in their order.
    ///
    /// - Throws: ``StoreError``, ``EditingError`` with code `editing.too_large`.
    func primaryKeys() throws -> [Int64] {
        let merged = merge(try saved(), try unsaved())
        let limit = request.limit ?? merged.count
        return merged.dropFirst(request.offset).prefix(limit).map(\.pk)
    }

    /// The store's objects that the context did not touch.
    private func saved() throws -> [FetchPosition] {
        var wider = request
        wider.now = now
        wider.offset = 0
        if let limit = request.limit {
            let (reach, overflow) = limit.addingReportingOverflow(request.offset)
            let (wanted, secondOverflow) = reach.addingReportingOverflow(pending.count)
            wider.limit = overflow || secondOverflow ? nil : wanted
        }
        var places: [FetchPosition] = []
        try reader.positions(wider) { place in
            if pending[place.pk] == nil { places.append(place) }
        }
        return places
    }

    /// The touched objects that the request asks for.
    private func unsaved() throws -> [FetchPosition] {
        let objects = RegistryObjects(registry: context.registry) { object, relationship in
            try context.currentDestinations(of: object, relationship).filter { !context.willBeDeleted($0) }
        }
        let evaluator = PredicateEvaluator(objects, now: now)
        var places: [FetchPosition] = []
        for (pk, row) in pending where row.isAlive && !context.willBeDeleted(row) {
            if !request.includes(row.entity) { continue }
            if row.state.isPlaceholder, !request.includesPlaceholders { continue }
            if let predicate = request.predicate, try !evaluator.isTrue(predicate, of: row) { continue }
            let place = FetchPosition(pk: pk, values: try evaluator.order(request.sort, of: row))
            if let after = request.after, !after.position.precedes(place, in: request.sort) { continue }
            places.append(place)
        }
        return places.sorted { $0.precedes($1, in: request.sort) }
    }

    /// Puts two ordered lists together.
    private func merge(_ saved: [FetchPosition], _ unsaved: [FetchPosition]) -> [FetchPosition] {
        var merged: [FetchPosition] = []
        merged.reserveCapacity(saved.count + unsaved.count)
        var rest = unsaved[...]
        for place in saved {
            while let first = rest.first, first.precedes(place, in: request.sort) { merged.append(rest.removeFirst()) }
            merged.append(place)
        }
        return merged + rest
    }
}
