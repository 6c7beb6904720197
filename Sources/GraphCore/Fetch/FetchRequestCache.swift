/// The fetch requests that were checked before for one connection's snapshots; the cache keeps the last used ones.
///
/// Requests with variables, or with conditions given as trees, mostly come with other values and are not kept.
package final class FetchRequestCache {
    package static let maximumCount = 64

    package init() {}

    /// A request without its page and time.
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

    private var requests = RecentlyUsed<Key, CheckedFetchRequest.Origin>(maximumCount: maximumCount)

    package var count: Int { requests.count }

    /// Returns a request checked against a model.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model.
    package func checked(_ request: FetchRequest, _ model: ObjectModel) throws(FetchPredicateError)
        -> CheckedFetchRequest
    {
        guard let key = Key(request) else { return try request.checked(with: model) }
        let origin: CheckedFetchRequest.Origin
        if let known = requests.find(key) {
            origin = known
        } else {
            origin = CheckedFetchRequest.Origin(try request.withoutPage.checked(with: model))
            requests.keep(origin, for: key)
        }
        var checked = try origin.request.at(request)
        checked.origin = origin
        return checked
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
