/// A condition on objects, as NSPredicate states them: read from text with ``parse(_:arguments:)`` or put together in
/// code, and printed by ``description`` as text that reads the same.
///
/// A condition is true or false, never unknown: a comparison with a missing value is false, `!=` and `NOT` are the
/// opposites of `=` and of what they stand before.
///
/// For example:
///
///     let work = try FetchPredicate.parse("title BEGINSWITH[c] 'work' AND ANY members.name IN {'Ada', 'Grace'}")
///     let recent = FetchPredicate("updatedAt", .greater, .date(microseconds))
///     let request = FetchRequest("Chat", matching: work && !recent)
///
/// Source of the language: Apple's Predicate Format String Syntax; docs/reference/fetching.md states ours.
public indirect enum FetchPredicate: Sendable, Hashable {
    /// True of all objects, or of none.
    case constant(Bool)
    /// True where all are; without any it is true.
    case and([FetchPredicate])
    /// True where one is; without any it is false.
    case or([FetchPredicate])
    /// True where the other is not.
    case not(FetchPredicate)
    /// True where two sides compare.
    case comparison(Comparison)

    /// Makes a comparison of a property with a value, or with another expression.
    public init(
        _ path: String, _ relation: Relation, _ right: Expression, options: TextOptions = [],
        quantifier: Quantifier? = nil
    ) {
        self = .comparison(
            Comparison(.path(path), relation, right, quantifier: quantifier, options: options))
    }

    /// Returns a predicate that is true where both are.
    public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate { .and([left, right]) }

    /// Returns a predicate that is true where one of both is.
    public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate { .or([left, right]) }

    /// Returns a predicate that is true where the other is not.
    public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { .not(predicate) }

    /// A comparison of two sides.
    public struct Comparison: Sendable, Hashable {
        /// How many objects of the left side's to-many relationship have to compare, or nil without one.
        public var quantifier: Quantifier?
        /// The left side.
        public var left: Expression
        /// How the sides compare.
        public var relation: Relation
        /// The right side; `between` takes a list of two, `contained` one of any length or a to-many path.
        public var right: Expression
        /// What is disregarded when texts compare.
        public var options: TextOptions

        /// Makes a comparison of two sides.
        public init(
            _ left: Expression, _ relation: Relation, _ right: Expression, quantifier: Quantifier? = nil,
            options: TextOptions = []
        ) {
            self.quantifier = quantifier
            self.left = left
            self.relation = relation
            self.right = right
            self.options = options
        }
    }

    /// What is disregarded when texts compare or are sorted.
    public struct TextOptions: OptionSet, Sendable, Hashable {
        /// The bits: 1 case, 2 diacritics.
        public let rawValue: Int

        /// Makes options of their bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Upper and lower case are the same: `[c]`.
        public static let caseInsensitive = TextOptions(rawValue: 1)
        /// Letters are the same with and without their marks: `[d]`.
        public static let diacriticInsensitive = TextOptions(rawValue: 2)
    }

    /// How many objects have to compare.
    public enum Quantifier: String, Sendable, Hashable {
        /// At least one; without objects it is false.
        case any
        /// All; without objects it is true.
        case all
        /// Not one; without objects it is true.
        case none
    }

    /// How two sides compare; the raw value is the operator's text.
    public enum Relation: String, Sendable, Hashable, CaseIterable {
        case equal = "="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case between = "BETWEEN"
        case contained = "IN"
        case beginsWith = "BEGINSWITH"
        case contains = "CONTAINS"
        case endsWith = "ENDSWITH"
        case like = "LIKE"
        case matches = "MATCHES"

        /// Tells whether the relation is one of texts only.
        var isTextual: Bool {
            switch self {
            case .beginsWith, .contains, .endsWith, .like, .matches: true
            default: false
            }
        }

        /// Tells whether the relation asks which side comes first.
        var isOrdering: Bool {
            switch self {
            case .less, .lessOrEqual, .greater, .greaterOrEqual, .between: true
            default: false
            }
        }

        /// The relation with its sides exchanged, or nil where it has none.
        var turned: Relation? {
            switch self {
            case .equal, .notEqual: self
            case .less: .greater
            case .lessOrEqual: .greaterOrEqual
            case .greater: .less
            case .greaterOrEqual: .lessOrEqual
            default: nil
            }
        }
    }
}
