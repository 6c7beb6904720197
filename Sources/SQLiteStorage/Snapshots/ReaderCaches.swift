/// The caches of a connection.
final class ReaderCaches {
    private(set) var statements = StatementCache()
    private(set) var requests = FetchRequestCache()
    private(set) var plans = FetchPlanCache()

    func removeAll() {
        statements = StatementCache()
        requests = FetchRequestCache()
        plans = FetchPlanCache()
    }
}

/// The requests that a connection has written as SQL before; the cache keeps the last used ones.
final class FetchPlanCache {
    private var plans = RecentlyUsed<ObjectIdentifier, FetchPlan>(maximumCount: FetchRequestCache.maximumCount)

    /// Returns the plan of a request, made where there is none; nil of a request that nobody keeps.
    func plan(_ request: CheckedFetchRequest) -> FetchPlan? {
        guard let origin = request.origin else { return nil }
        let key = ObjectIdentifier(origin)
        if let known = plans.find(key) { return known }
        let plan = FetchPlan(origin)
        plans.keep(plan, for: key)
        return plan
    }
}

/// The query of a request that comes again, as it was last written.
final class FetchPlan {
    /// Kept, so that no other request takes its place in memory.
    private let origin: CheckedFetchRequest.Origin
    private var written: (limit: Int?, offset: Int, query: FetchQuery)?

    init(_ origin: CheckedFetchRequest.Origin) { self.origin = origin }

    /// Returns the query of the request's objects.
    ///
    /// - Throws: ``FetchPredicateError`` where the request leads over too many relationships.
    func query(_ request: CheckedFetchRequest) throws(FetchPredicateError) -> FetchQuery {
        if request.after == nil, let written, written.limit == request.limit, written.offset == request.offset {
            return written.query
        }
        let query = try FetchQuery(request, now: request.time)
        if request.after == nil, !query.readsTime { written = (request.limit, request.offset, query) }
        return query
    }
}
