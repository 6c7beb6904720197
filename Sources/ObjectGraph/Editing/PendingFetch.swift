/// A fetch of an editing context that regards what is not saved.
///
/// The store is asked for the objects that the context did not touch; those it did are judged in memory and put in
/// their places. A limit holds for both together: the store is asked for as many more as there are touched ones.
struct PendingFetch {
    /// An object at its place in the order.
    private struct Entry {
        let pk: Int64
        let values: [Value]
    }

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
        now = reader.now(request)
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
    private func saved() throws -> [Entry] {
        var wider = request
        wider.now = now
        wider.offset = 0
        if let limit = request.limit {
            let (reach, overflow) = limit.addingReportingOverflow(request.offset)
            let (wanted, secondOverflow) = reach.addingReportingOverflow(pending.count)
            wider.limit = overflow || secondOverflow ? nil : wanted
        }
        var entries: [Entry] = []
        try reader.positions(wider) { pk, values in
            if pending[pk] == nil { entries.append(Entry(pk: pk, values: values)) }
        }
        return entries
    }

    /// The touched objects that the request asks for.
    private func unsaved() throws -> [Entry] {
        let evaluator = PredicateEvaluator(registry: context.registry, now: now) { object, relationship in
            try context.currentDestinations(of: object, relationship).filter { !context.willBeDeleted($0) }
        }
        var entries: [Entry] = []
        for (pk, row) in pending where row.isAlive && !context.willBeDeleted(row) {
            if !request.includes(row.entity) { continue }
            if row.state.isPlaceholder, !request.includesPlaceholders { continue }
            if let predicate = request.predicate, try !evaluator.isTrue(predicate, of: row) { continue }
            let entry = Entry(pk: pk, values: try evaluator.order(request.sort, of: row))
            if let after = request.after, !precedes(Entry(pk: after.pk, values: after.values), entry) { continue }
            entries.append(entry)
        }
        return entries.sorted(by: precedes)
    }

    /// Puts two ordered lists together.
    private func merge(_ saved: [Entry], _ unsaved: [Entry]) -> [Entry] {
        var merged: [Entry] = []
        merged.reserveCapacity(saved.count + unsaved.count)
        var rest = unsaved[...]
        for entry in saved {
            while let first = rest.first, precedes(first, entry) { merged.append(rest.removeFirst()) }
            merged.append(entry)
        }
        return merged + rest
    }

    /// Tells whether one object comes before another; of equal ones new objects come last, in the order of their making.
    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        for (position, key) in request.sort.enumerated() {
            let order = ValueOrder.compare(
                left.values[position], right.values[position], asDecimals: key.expression.type.isDecimal)
            if order != 0 { return key.isDescending ? order > 0 : order < 0 }
        }
        let isDescending = request.sort.last?.isDescending ?? false
        if (left.pk < 0) != (right.pk < 0) { return (right.pk < 0) != isDescending }
        return isDescending ? left.pk > right.pk : left.pk < right.pk
    }
}
