import GraphCore

/// A condition on the objects of a typed class, built from key paths.
///
/// It builds the same ``FetchPredicate`` as a condition's text. For example:
///
///     \.title != nil && \.messages.count > 3
///     .contains(\.title, "pump", .caseInsensitive) || .any(\.members, \.name == "Ada")
///
/// A value has to have the property's type, optional or not. A comparison with a missing value is false, and `!=` is the
/// opposite of `==`, as in a condition's text.
public struct TypedPredicate<Root: TypedObject>: Sendable {
    /// The predicate, or the error of a key path that does not lead to a declared property.
    let result: Result<FetchPredicate, FetchPredicateError>

    init(_ body: () throws(FetchPredicateError) -> FetchPredicate) {
        do {
            result = .success(try body())
        } catch {
            result = .failure(error)
        }
    }

    /// Makes a condition from a predicate, for conditions beyond key paths.
    public init(_ predicate: FetchPredicate) { result = .success(predicate) }

    /// The untyped predicate.
    ///
    /// - Throws: ``FetchPredicateError`` with code `predicate.unsupported` if a key path does not lead to one.
    public var predicate: FetchPredicate { get throws(FetchPredicateError) { try result.get() } }

    /// True of all objects, or of none.
    public static func constant(_ value: Bool) -> TypedPredicate { TypedPredicate(.constant(value)) }

    /// Returns a condition that is true if both are true.
    public static func && (left: TypedPredicate, right: TypedPredicate) -> TypedPredicate {
        TypedPredicate { () throws(FetchPredicateError) in
            let (left, right) = (try left.predicate, try right.predicate)
            if case .and(let parts) = left { return .and(parts + [right]) }
            return .and([left, right])
        }
    }

    /// Returns a condition that is true if at least one is true.
    public static func || (left: TypedPredicate, right: TypedPredicate) -> TypedPredicate {
        TypedPredicate { () throws(FetchPredicateError) in
            let (left, right) = (try left.predicate, try right.predicate)
            if case .or(let parts) = left { return .or(parts + [right]) }
            return .or([left, right])
        }
    }

    /// Returns the opposite of a condition.
    public static prefix func ! (condition: TypedPredicate) -> TypedPredicate {
        TypedPredicate { () throws(FetchPredicateError) in .not(try condition.predicate) }
    }

    static func compare(
        _ path: PartialKeyPath<Root>, _ relation: FetchPredicate.Relation,
        options: FetchPredicate.TextOptions = [],
        _ right: @autoclosure () throws(FetchPredicateError) -> FetchPredicate.Expression
    ) -> TypedPredicate {
        TypedPredicate { () throws(FetchPredicateError) in
            let path = try KeyPathProbe.path(path, of: Root.self)
            return .comparison(
                FetchPredicate.Comparison(.path(path), relation, try right(), options: options))
        }
    }

    // MARK: Texts

    /// True if the text contains the other one.
    public static func contains<Content: TextValue>(
        _ path: KeyPath<Root, Content>, _ text: String, _ options: FetchPredicate.TextOptions = []
    ) -> TypedPredicate { compare(path, .contains, options: options, .text(text)) }

    /// True if the text begins with the other one.
    public static func beginsWith<Content: TextValue>(
        _ path: KeyPath<Root, Content>, _ text: String, _ options: FetchPredicate.TextOptions = []
    ) -> TypedPredicate { compare(path, .beginsWith, options: options, .text(text)) }

    /// True if the text ends with the other one.
    public static func endsWith<Content: TextValue>(
        _ path: KeyPath<Root, Content>, _ text: String, _ options: FetchPredicate.TextOptions = []
    ) -> TypedPredicate { compare(path, .endsWith, options: options, .text(text)) }

    /// True if the whole text matches a pattern, with `?` for one character and `*` for any number of them.
    public static func like<Content: TextValue>(
        _ path: KeyPath<Root, Content>, _ pattern: String, _ options: FetchPredicate.TextOptions = []
    ) -> TypedPredicate { compare(path, .like, options: options, .text(pattern)) }

    /// True if the whole text matches a regular expression.
    public static func matches<Content: TextValue>(
        _ path: KeyPath<Root, Content>, _ pattern: String, _ options: FetchPredicate.TextOptions = []
    ) -> TypedPredicate { compare(path, .matches, options: options, .text(pattern)) }

    /// True if two texts are equal without regard to case or diacritics.
    public static func equals<Content: TextValue>(
        _ path: KeyPath<Root, Content>, _ text: String, _ options: FetchPredicate.TextOptions
    ) -> TypedPredicate { compare(path, .equal, options: options, .text(text)) }

    // MARK: Several values

    /// True if the value is one of several.
    public static func `in`<Content: AttributeValue>(
        _ path: KeyPath<Root, Content>, _ values: [Content]
    ) -> TypedPredicate { compare(path, .contained, .list(values.map(\.predicateExpression))) }

    /// True if the value is within two bounds, bounds included.
    public static func between<Content: AttributeValue & Comparable>(
        _ path: KeyPath<Root, Content>, _ bounds: ClosedRange<Content>
    ) -> TypedPredicate {
        compare(path, .between, .list([bounds.lowerBound.predicateExpression, bounds.upperBound.predicateExpression]))
    }

    /// True if there is a value within two bounds, bounds included.
    public static func between<Content: AttributeValue & Comparable>(
        _ path: KeyPath<Root, Content?>, _ bounds: ClosedRange<Content>
    ) -> TypedPredicate {
        compare(path, .between, .list([bounds.lowerBound.predicateExpression, bounds.upperBound.predicateExpression]))
    }
}

/// A text, optional or not.
public protocol TextValue: AttributeValue {}

extension String: TextValue {}
extension Optional: TextValue where Wrapped: TextValue {}

/// One key of an order, by a key path.
public struct TypedSort<Root: TypedObject>: Sendable {
    let result: Result<String, FetchPredicateError>

    private init(_ path: PartialKeyPath<Root>, _ options: FetchPredicate.TextOptions, isDescending: Bool) {
        do throws(FetchPredicateError) {
            let path = try KeyPathProbe.path(path, of: Root.self)
            let order = isDescending ? " desc" : ""
            result = .success("\(FetchPredicate.Expression.path(path))\(options)\(order)")
        } catch {
            result = .failure(error)
        }
    }

    /// Ascending order; missing values come first.
    public static func ascending<Content: AttributeValue>(
        _ path: KeyPath<Root, Content>, _ options: FetchPredicate.TextOptions = []
    ) -> TypedSort { TypedSort(path, options, isDescending: false) }

    /// Descending order; missing values come last.
    public static func descending<Content: AttributeValue>(
        _ path: KeyPath<Root, Content>, _ options: FetchPredicate.TextOptions = []
    ) -> TypedSort { TypedSort(path, options, isDescending: true) }
}
