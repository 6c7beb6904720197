/// How a storage carries a fetch request out.
public struct FetchExplanation: Sendable {
    /// The statement; values are parameters in it.
    public let sql: String
    /// How many values are bound.
    public let valueCount: Int
    /// The steps in words, in the order of the statement's plan.
    public let steps: [String]
    /// Tells whether an index or key finds the objects of the entity, or serves their order.
    public let usesIndex: Bool
    /// Tells whether the result is sorted because no index serves the order.
    public let sorts: Bool

    package init(sql: String, valueCount: Int, steps: [String], usesIndex: Bool, sorts: Bool) {
        (self.sql, self.valueCount, self.steps) = (sql, valueCount, steps)
        (self.usesIndex, self.sorts) = (usesIndex, sorts)
    }

    /// The whole as text of several lines.
    public var text: String {
        let summary: String
        switch (usesIndex, sorts) {
        case (true, false): summary = "An index serves."
        case (true, true): summary = "An index finds the objects; they are sorted then."
        case (false, false): summary = "No index serves: all objects are read."
        case (false, true): summary = "No index serves: all objects are read, then sorted."
        }
        let lines = steps.map { "  " + $0 }
        return ([sql, "", summary] + lines).joined(separator: "\n") + "\n"
    }
}

/// A snapshot that tells how it carries requests out.
package protocol RequestExplainer {
    /// Tells how a request is carried out, without doing so.
    func explain(_ request: CheckedFetchRequest, counting: Bool) throws -> FetchExplanation
}

extension ReadContext {
    /// Tells how a request is carried out, without doing so.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - counting: whether its objects or rows are counted rather than read.
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``.
    public func explain(_ request: FetchRequest, counting: Bool = false) throws -> FetchExplanation {
        try explain(try request.checked(with: model), counting: counting)
    }

    /// Tells how a checked request is carried out, without doing so.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - counting: whether its objects or rows are counted rather than read.
    /// - Throws: ``StoreError``, with code `store.unavailable` for a store in memory; ``FetchPredicateError`` where the
    ///   request leads over too many relationships.
    public func explain(_ request: CheckedFetchRequest, counting: Bool = false) throws -> FetchExplanation {
        guard let explainer = session as? any RequestExplainer else {
            throw StoreError(
                .unavailable, "A store in memory has no plans", remedy: "Use a store in a file or in PostgreSQL")
        }
        return try explainer.explain(try ready(request), counting: counting)
    }
}
