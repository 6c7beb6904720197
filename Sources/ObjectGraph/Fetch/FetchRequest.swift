/// What to read of a store: objects of one entity, which of them, in which order, and which of their properties.
///
/// For example:
///
///     var request = FetchRequest("Message", where: "chat.title = 'Work' AND sentAt >= '2026-01-01'")
///     request.sort = ["-sentAt"]
///     request.limit = 20
public struct FetchRequest: Sendable {
    /// The condition, as text or as a tree.
    public enum Condition: Sendable {
        case text(String)
        case tree(Predicate)
    }

    /// The entity's name.
    public var entity: String
    /// Which objects, or nil for all.
    public var condition: Condition?
    /// The order, the first most important: `title`, `title desc`, `-sentAt`, `chat.title`, `members.@count`.
    ///
    /// Missing values come first. Objects that are equal in it come in the order of their primary keys.
    public var sort: [String] = []
    /// The greatest number of objects, or nil.
    public var limit: Int?
    /// How many objects are passed over.
    public var offset = 0
    /// Tells whether objects that have not arrived, but were mentioned, are read too.
    public var includesPlaceholders = true
    /// The names of the properties to read; nil for all attributes and to-one relationships.
    ///
    /// A to-many relationship that is named comes as the list of its destinations' identities.
    public var properties: [String]?

    /// Makes a request for the objects of an entity that a condition's text is true of; without one, for all.
    public init(_ entity: String, where text: String? = nil) {
        self.entity = entity
        condition = text.map { .text($0) }
    }

    /// Makes a request for the objects of an entity that a condition is true of.
    public init(_ entity: String, matching predicate: Predicate) {
        self.entity = entity
        condition = .tree(predicate)
    }

    /// Returns the request with everything looked up in a model, ready to be carried out any number of times.
    ///
    /// - Throws: ``PredicateError``.
    public func checked(with model: ObjectModel) throws(PredicateError) -> CheckedFetchRequest {
        guard let found = model.entity(matching: entity) else {
            throw PredicateError(
                .unknownEntity, "The model has no entity '\(entity)'", at: nil,
                remedy: ClosestName.remedy(entity, among: model.entities.map(\.name)))
        }
        try checkRange(limit, "limit")
        try checkRange(offset, "offset")
        return CheckedFetchRequest(
            model: model, entity: found, predicate: try checkedCondition(found, model),
            sort: try checkedSort(found, model),
            shape: try FetchShape(entity: found, properties: properties, model: model),
            limit: limit, offset: offset, includesPlaceholders: includesPlaceholders)
    }

    private func checkRange(_ number: Int?, _ name: String) throws(PredicateError) {
        if let number, number < 0 {
            throw PredicateError(.range, "The \(name) is negative", at: nil, remedy: "Use a number from 0 up")
        }
    }

    private func checkedCondition(
        _ entity: Entity, _ model: ObjectModel
    ) throws(PredicateError) -> CheckedPredicate? {
        switch condition {
        case nil: return nil
        case .tree(let predicate): return try PredicateChecker.check(predicate, entity: entity, model: model)
        case .text(let text):
            return try PredicateChecker.check(try Predicate.parse(text), entity: entity, model: model)
        }
    }

    private func checkedSort(_ entity: Entity, _ model: ObjectModel) throws(PredicateError) -> [CheckedSort] {
        var sort: [CheckedSort] = []
        for text in self.sort {
            let term = try SortTerm(text)
            var path = try PathResolver(model: model).resolveSingle(term.path, from: entity.index)
            // Objects are ordered by their identities.
            if case .destination(let relationship) = path.end {
                path = ResolvedPath(
                    origin: path.origin, steps: path.steps + [relationship],
                    end: .attribute(model.entities[relationship.destinationIndex].identity))
            }
            sort.append(CheckedSort(path: path, isDescending: term.isDescending))
        }
        if sort.count > 16 {
            throw PredicateError(.tooComplex, "The order has more than 16 properties", at: nil, remedy: "Name fewer")
        }
        return sort
    }
}

/// One property of an order.
struct SortTerm: Equatable {
    let path: PropertyPath
    let isDescending: Bool

    /// Reads `title`, `-title`, `+title`, `title asc` or `title desc`.
    init(_ text: String) throws(PredicateError) {
        var words = text.split(whereSeparator: \.isWhitespace).map { String($0) }
        var isDescending = false
        if words.count == 2 {
            switch words[1].lowercased() {
            case "asc", "ascending": break
            case "desc", "descending": isDescending = true
            default: throw Self.malformed(text)
            }
            words.removeLast()
        }
        guard words.count == 1, var name = words.first else { throw Self.malformed(text) }
        if name.hasPrefix("-") || name.hasPrefix("+") {
            if name.hasPrefix("-") { isDescending.toggle() }
            name.removeFirst()
        }
        guard !name.isEmpty else { throw Self.malformed(text) }
        path = PropertyPath(name)
        self.isDescending = isDescending
        if path.names.isEmpty { throw Self.malformed(text) }
    }

    private static func malformed(_ text: String) -> PredicateError {
        PredicateError(
            .syntax, "'\(text)' is no order", at: nil, remedy: "Write a property: title, -title or 'title desc'")
    }
}

struct CheckedSort: Sendable {
    let path: ResolvedPath
    let isDescending: Bool
}

/// A fetch request that was checked against a model.
public struct CheckedFetchRequest: Sendable {
    let model: ObjectModel
    /// The entity whose objects are read.
    public let entity: Entity
    let predicate: CheckedPredicate?
    let sort: [CheckedSort]
    /// The properties that are read.
    public let shape: FetchShape
    let limit: Int?
    let offset: Int
    let includesPlaceholders: Bool
}

extension ReadContext {
    /// Returns an object's values as a JSON object, or nil where it is gone.
    ///
    /// - Throws: ``StoreError``.
    public func objectJSON(entity name: String, identity: Value) throws -> String? {
        guard let entity = model.entity(named: name) else { return nil }
        let wanted: Predicate.Operand =
            identity.integer.map { .number($0) } ?? .text(entity.identity.type.text(of: identity))
        let isSame = Predicate.Comparison(.path(entity.identity.name), .equal, wanted)
        guard let object = try fetch(FetchRequest(name, matching: .comparison(isSame))).first else { return nil }
        var json = ""
        object.appendJSON(to: &json)
        return json
    }
}
