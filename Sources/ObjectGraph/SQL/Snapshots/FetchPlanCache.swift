/// The fetch requests that a connection has carried out before, checked and written as SQL; those that were used last
/// are kept.
///
/// Requests with variables, or with conditions given as trees, mostly come with other values and are not kept.
final class FetchPlanCache {
    static let maximumCount = 64

    /// What a request asks for, its page and time aside.
    private struct Key: Hashable {
        let entity: String
        let condition: String?
        let sort: [String]
        let properties: [String]?
        let groupBy: [String]
        let having: String?
        let isDistinct: Bool
        let includesPlaceholders: Bool
        let includesSubentities: Bool

        init?(_ request: FetchRequest) {
            if !request.boundVariables.isEmpty { return nil }
            condition = request.condition?.text
            having = request.having?.text
            if condition == nil, request.condition != nil { return nil }
            if having == nil, request.having != nil { return nil }
            entity = request.entity
            sort = request.sort
            properties = request.properties
            groupBy = request.groupBy
            isDistinct = request.isDistinct
            includesPlaceholders = request.includesPlaceholders
            includesSubentities = request.includesSubentities
        }
    }

    private var plans: [Key: (plan: FetchPlan, use: Int)] = [:]
    private var useCount = 0

    var count: Int { plans.count }

    /// Returns the plan of a request, made where there is none; nil where requests like it are not kept.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model.
    func plan(_ request: FetchRequest, _ model: ObjectModel) throws(FetchPredicateError) -> FetchPlan? {
        guard let key = Key(request) else { return nil }
        useCount += 1
        if let index = plans.index(forKey: key) {
            plans.values[index].use = useCount
            return plans.values[index].plan
        }
        let plan = FetchPlan(try request.withoutPage.checked(with: model))
        plans[key] = (plan, useCount)
        if plans.count > Self.maximumCount, let oldest = plans.min(by: { $0.value.use < $1.value.use })?.key {
            plans[oldest] = nil
        }
        return plan
    }
}

/// A request that was checked before, and its query as it was last written.
final class FetchPlan {
    private let request: CheckedFetchRequest
    private var written: (limit: Int?, offset: Int, query: FetchQuery)?

    init(_ request: CheckedFetchRequest) { self.request = request }

    /// Returns the request with the page and the time of another one that asks for the same.
    ///
    /// - Throws: ``FetchPredicateError``.
    func request(at other: FetchRequest) throws(FetchPredicateError) -> CheckedFetchRequest {
        try request.at(other)
    }

    /// Returns the query of the request's objects.
    ///
    /// - Parameter now: what `now()` is, in microseconds since 1970 UTC.
    /// - Throws: ``FetchPredicateError`` where the request leads over too many relationships.
    func query(_ request: CheckedFetchRequest, now: Int64) throws(FetchPredicateError) -> FetchQuery {
        if request.after == nil, let written, written.limit == request.limit, written.offset == request.offset {
            return written.query
        }
        let query = try FetchQuery(request, now: now)
        if request.after == nil, !query.readsTime { written = (request.limit, request.offset, query) }
        return query
    }
}

extension FetchRequest {
    /// The request for all that it asks for, at any time.
    fileprivate var withoutPage: FetchRequest {
        var request = self
        request.limit = nil
        request.offset = 0
        request.after = nil
        request.now = nil
        return request
    }
}

extension FetchRequest.Condition {
    fileprivate var text: String? {
        if case .text(let text) = self { return text }
        return nil
    }
}
