import ObjectGraph
import TestSupport

@testable import GraphCore

/// Makes well-formed requests of every kind at random, over the model of ``RandomPredicates``.
///
/// The order of objects is total by itself. The order of rows is made so: what a request for rows leaves open, storages
/// may answer as they like.
struct RandomRequests {
    var predicates: RandomPredicates

    init(seed: UInt64) { predicates = RandomPredicates(seed: seed) }

    private static let keys = [
        "id", "name", "size", "ratio", "price", "at", "flag", "code", "box", "parent", "box.name", "parent.size",
        "parent.box.name", "tags.@count", "children.size.@sum", "tags.price.@max", "size * 2", "lowercase(name)",
        "price + 1",
    ]
    private static let texts = ["name", "box.name", "note"]
    private static let lists = ["tags", "children"]
    private static let aggregates = [
        "count()", "count(name)", "count(box)", "sum(size)", "sum(price)", "sum(ratio)", "min(price)", "max(price)",
        "min(name)", "max(at)", "average(size)", "average(price)", "max(box.size)", "min(parent.name)",
    ]

    /// Returns a request for objects, or for rows.
    mutating func request() -> FetchRequest {
        var request =
            predicates.chance(70)
            ? FetchRequest("Item", matching: predicates.predicate(depth: 2)) : FetchRequest("Item")
        request.now = RandomPredicates.now
        request.includesPlaceholders = !predicates.chance(15)
        switch predicates.random.number(below: 5) {
        case 0: distinct(&request)
        case 1: grouped(&request)
        case 2: request.properties = aggregated(3)
        default: objects(&request)
        }
        if predicates.chance(40) { request.limit = predicates.random.number(below: 5) }
        if predicates.chance(30) { request.offset = predicates.random.number(below: 3) }
        return request
    }

    private mutating func several(_ texts: [String], upTo count: Int) -> [String] {
        var found: [String] = []
        for _ in 0..<1 + predicates.random.number(below: count) {
            let text = predicates.pick(texts)
            if !found.contains(text) { found.append(text) }
        }
        return found
    }

    private mutating func turned(_ key: String) -> String { predicates.chance(40) ? "\(key) desc" : key }

    private mutating func objects(_ request: inout FetchRequest) {
        if predicates.chance(70) { request.properties = several(Self.keys + Self.lists, upTo: 5) }
        if predicates.chance(85) { request.sort = several(Self.keys, upTo: 3).map { turned($0) } }
        if predicates.chance(25) {
            request.sort.insert(turned(predicates.pick(Self.texts) + predicates.pick(["[c]", "[d]", "[cd]"])), at: 0)
        }
    }

    private mutating func distinct(_ request: inout FetchRequest) {
        let properties = several(Self.keys, upTo: 3)
        (request.properties, request.isDistinct) = (properties, true)
        request.sort = properties.map { turned($0) }
    }

    private mutating func grouped(_ request: inout FetchRequest) {
        let keys = several(Self.keys, upTo: 2)
        (request.groupBy, request.properties) = (keys, keys + aggregated(2))
        request.sort = keys.map { turned($0) }
        if predicates.chance(40) { request.sort.insert(turned(predicates.pick(Self.aggregates)), at: 0) }
        if predicates.chance(30) { request.having = .text(predicates.pick(Self.havings)) }
    }

    private static let havings = [
        "count() > 1", "sum(size) >= 1", "max(name) != nil", "min(price) < 1.5 OR count(box) = 0",
        "NOT (average(size) > 1)",
    ]

    private mutating func aggregated(_ count: Int) -> [String] { several(Self.aggregates, upTo: count) }
}

extension FetchRequest {
    /// The request as a person would write it, for failures.
    var told: String {
        var text = "\(entity)"
        if case .tree(let predicate) = condition { text += " where \(predicate)" }
        if case .text(let condition) = condition { text += " where \(condition)" }
        if case .text(let having) = having { text += " having \(having)" }
        text += " properties \(properties ?? []) group by \(groupBy) sort \(sort) limit \(limit ?? -1) offset \(offset)"
        return text + (isDistinct ? " distinct" : "") + (includesPlaceholders ? "" : " without placeholders")
    }
}
