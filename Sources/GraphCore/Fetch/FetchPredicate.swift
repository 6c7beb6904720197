/// A condition on objects, in the language of NSPredicate.
///
/// ``parse(_:arguments:)`` reads a condition from text, and ``description`` prints it as text that reads the same. Code
/// can build conditions too.
///
/// A condition is true or false, never unknown. A comparison with a missing value is false; `!=` is the opposite of `=`,
/// and `NOT` negates its operand.
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
    /// True if all conditions are true; an empty list is true.
    case and([FetchPredicate])
    /// True if at least one condition is true; an empty list is false.
    case or([FetchPredicate])
    /// True if the condition is false.
    case not(FetchPredicate)
    /// True if the relation holds between two sides.
    case comparison(Comparison)

    /// Makes a comparison of a property with a value, or with another expression.
    public init(
        _ path: String, _ relation: Relation, _ right: Expression, options: TextOptions = [],
        quantifier: Quantifier? = nil
    ) {
        self = .comparison(
            Comparison(.path(path), relation, right, quantifier: quantifier, options: options))
    }

    /// Returns a predicate that is true if both are true.
    public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate { .and([left, right]) }

    /// Returns a predicate that is true if at least one is true.
    public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate { .or([left, right]) }

    /// Returns the opposite of a predicate.
    public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { .not(predicate) }

    /// A comparison of two sides.
    public struct Comparison: Sendable, Hashable {
        /// The quantifier for the left side's to-many relationship, or nil without one.
        public var quantifier: Quantifier?
        /// The left side.
        public var left: Expression
        /// The relation between the sides.
        public var relation: Relation
        /// The right side; `between` takes a list of two, `contained` one of any length or a to-many path.
        public var right: Expression
        /// The differences between texts to ignore.
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

    /// The differences between texts that comparisons and sort keys ignore.
    public struct TextOptions: OptionSet, Sendable, Hashable {
        /// The bits: 1 case, 2 diacritics.
        public let rawValue: Int

        /// Makes options from their bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Ignores case: `[c]`.
        public static let caseInsensitive = TextOptions(rawValue: 1)
        /// Ignores diacritics: `[d]`.
        public static let diacriticInsensitive = TextOptions(rawValue: 2)
    }

    /// The number of objects for which a comparison has to be true.
    public enum Quantifier: String, Sendable, Hashable {
        /// At least one object; false without objects.
        case any
        /// All objects; true without objects.
        case all
        /// No object; true without objects.
        case none
    }

    /// A relation between two sides; the raw value is the operator's text.
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

        /// Tells whether the relation applies to texts only.
        var isTextual: Bool {
            switch self {
            case .beginsWith, .contains, .endsWith, .like, .matches: true
            default: false
            }
        }

        /// Tells whether the relation is one of order.
        var isOrdering: Bool {
            switch self {
            case .less, .lessOrEqual, .greater, .greaterOrEqual, .between: true
            default: false
            }
        }

        /// The relation for exchanged sides, or nil if there is none.
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
