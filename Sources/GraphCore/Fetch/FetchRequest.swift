import struct Foundation.Date

/// A request for objects of one entity: a condition, an order, a page and the properties to read.
///
/// For example:
///
///     var request = FetchRequest("Message", where: "chat.title = $chat AND sentAt > now() - 86400")
///     request.variables = ["chat": "Work"]
///     request.sort = ["-sentAt", "sender.name[cd]"]
///     request.limit = 20
///
/// A request that groups, aggregates or leaves out repeats returns rows instead of objects:
///
///     var request = FetchRequest("Message")
///     request.properties = ["chat.title", "count() AS messages", "max(sentAt) AS last"]
///     request.groupBy = ["chat.title"]
///     request.having = .text("messages > 10")
///     request.sort = ["-messages"]
public struct FetchRequest: Sendable {
    /// A condition, as text or as a tree.
    public enum Condition: Sendable {
        case text(String)
        /// A text with values for its placeholders, `%@` and `%K`.
        case format(String, [FetchPredicate.Expression])
        case tree(FetchPredicate)
    }

    /// The entity's name.
    public var entity: String
    /// The condition on the objects, or nil for all.
    public var condition: Condition?
    /// The values of the `$variables` of the conditions.
    public var variables: [String: (any PropertyValue)?] {
        get { boundVariables }
        set { boundVariables = newValue.mapValues { $0?.predicateExpression ?? .null } }
    }

    private(set) var boundVariables: [String: FetchPredicate.Expression] = [:]
    /// The order, the first most important: `title`, `title desc`, `-sentAt`, `chat.title[cd]`, `members.@count`.
    ///
    /// Missing values come before all others. Primary keys decide between equal objects, in the direction of the last
    /// sort key.
    public var sort: [String] = []
    /// The maximum number of objects, or nil.
    public var limit: Int?
    /// The number of objects to skip.
    public var offset = 0
    /// The position to begin after, from ``FetchedPage/next``; nil for the beginning.
    public var after: String?
    /// Tells whether the request reads placeholders too: objects that events refer to and that have not arrived.
    public var includesPlaceholders = true
    /// Tells whether the request reads objects of sub-entities too.
    ///
    /// Source: NSFetchRequest.h, includesSubentities.
    public var includesSubentities = true
    /// The properties to read; nil for all attributes and to-one relationships.
    ///
    /// The content of a to-many relationship is the list of its destinations' identities. Key paths and expressions may
    /// have a name: `chat.title`, `cost * 2 AS twice`, `count() AS messages`.
    public var properties: [String]?
    /// The expressions to group by; each row of the result is a group of objects with equal values.
    public var groupBy: [String] = []
    /// The condition on the groups, or nil for all.
    public var having: Condition?
    /// Tells whether the result leaves out repeated rows.
    public var isDistinct = false
    /// The value of `now()`, in microseconds since 1970 UTC; nil for the time of the request.
    public var now: Int64?

    /// Makes a request for the objects of an entity that match a condition; without a condition, for all.
    ///
    ///     FetchRequest("Message", where: "sender = %@ AND sentAt > %@", member, date)
    ///
    /// - Parameters:
    ///   - entity: the entity's name.
    ///   - text: the condition.
    ///   - arguments: the values of the text's placeholders: `%@` is a value or an object, `%K` a key path.
    public init(_ entity: String, where text: String? = nil, _ arguments: (any PropertyValue)?...) {
        self.init(entity, where: text, arguments: arguments)
    }

    /// Makes a request for the objects of an entity that match a condition, with a list of arguments.
    public init(_ entity: String, where text: String?, arguments: [(any PropertyValue)?]) {
        self.entity = entity
        let values = arguments.map { $0?.predicateExpression ?? .null }
        condition = text.map { values.isEmpty ? .text($0) : .format($0, values) }
    }

    /// Makes a request for the objects of an entity that match a condition.
    public init(_ entity: String, matching predicate: FetchPredicate) {
        self.entity = entity
        condition = .tree(predicate)
    }

    /// Checks the request against a model. The result can be executed any number of times.
    ///
    /// - Throws: ``FetchPredicateError``.
    public func checked(with model: ObjectModel) throws(FetchPredicateError) -> CheckedFetchRequest {
        guard let found = model.entity(matching: entity) else {
            throw FetchPredicateError(
                .unknownEntity, "The model has no entity '\(entity)'", at: nil,
                remedy: ClosestName.remedy(entity, among: model.entities.map(\.name)))
        }
        try checkRange()
        var checking = FetchRequestChecker(self, entity: found, model: model)
        return try checking.checked().at(self)
    }

    /// Checks the limit and the offset.
    fileprivate func checkRange() throws(FetchPredicateError) {
        for (number, name) in [(limit ?? 0, "limit"), (offset, "offset")] where number < 0 {
            throw FetchPredicateError(.range, "The \(name) is negative", at: nil, remedy: "Use a number from 0 up")
        }
    }
}

extension FetchRequest.Condition {
    /// Returns the predicate with values in the place of its variables.
    package func predicate(_ variables: [String: FetchPredicate.Expression]) throws(FetchPredicateError)
        -> FetchPredicate
    {
        switch self {
        case .format(let text, let values): try FetchPredicate.parse(text, arguments: values).substituting(variables)
        case .text(let text): try FetchPredicate.parse(text).substituting(variables)
        case .tree(let predicate): try predicate.substituting(variables)
        }
    }
}

/// A fetch request that was checked against a model.
public struct CheckedFetchRequest: Sendable {
    /// A request that is kept, without its page and time. A storage may keep by it what it makes of the request.
    package final class Origin: Sendable {
        package let request: CheckedFetchRequest

        package init(_ request: CheckedFetchRequest) { self.request = request }
    }

    package let model: ObjectModel
    /// The entity whose objects are read.
    public let entity: Entity
    package let predicate: CheckedPredicate?
    package let sort: [CheckedSort]
    /// The properties that are read.
    public let shape: FetchShape
    package let groupBy: [TypedExpression]
    package let having: CheckedPredicate?
    package let isDistinct: Bool
    package var limit: Int?
    package var offset: Int
    package fileprivate(set) var after: FetchCursor?
    package let includesPlaceholders: Bool
    package let includesSubentities: Bool
    package var now: Int64?
    /// Distinguishes this request's cursors from the cursors of other requests.
    package let fingerprint: UInt64
    /// The kept request that this one differs from by page and time only, or nil if it was not kept.
    package var origin: Origin?

    /// The value of `now()`, in microseconds since 1970 UTC: the request's own, or the present time.
    package var time: Int64 { now ?? Int64((Date().timeIntervalSince1970 * 1_000_000).rounded()) }

    /// Tells whether the result is rows rather than objects: groups, aggregates, or rows without repeats.
    public var isOfRows: Bool { isDistinct || isGrouped }

    /// Returns the checked request with the page and the time of an equal request.
    ///
    /// - Throws: ``FetchPredicateError`` if limit, offset or cursor do not fit this request.
    package func at(_ request: FetchRequest) throws(FetchPredicateError) -> CheckedFetchRequest {
        try request.checkRange()
        var checked = self
        checked.limit = request.limit
        checked.offset = request.offset
        checked.now = request.now
        checked.after = try cursor(request)
        return checked
    }

    private func cursor(_ request: FetchRequest) throws(FetchPredicateError) -> FetchCursor? {
        guard let text = request.after else { return nil }
        if isOfRows {
            throw FetchPredicateError(
                .cursor, "Groups and rows without repeats have no cursor", at: nil, remedy: "Use limit and offset")
        }
        if request.offset > 0 {
            throw FetchPredicateError(
                .cursor, "A cursor and an offset exclude each other", at: nil, remedy: "Leave the offset out")
        }
        return try FetchCursor(text, fingerprint: fingerprint, types: sort.map(\.expression.type))
    }

    /// The entities of the requested objects.
    package var entities: [Entity] {
        includesSubentities ? [entity] + entity.subentityIndexes.map { model.entities[$0] } : [entity]
    }

    /// Tells whether the request is for objects of an entity.
    package func includes(_ other: Entity) -> Bool {
        includesSubentities ? other.isKind(of: entity) : other === entity
    }

    /// Tells whether a row of the result stands for several objects.
    package var isGrouped: Bool { !groupBy.isEmpty || having != nil || shape.hasRowAggregates }
}

package struct CheckedSort: Sendable {
    package let expression: TypedExpression
    package let options: FetchPredicate.TextOptions
    package let isDescending: Bool
}
