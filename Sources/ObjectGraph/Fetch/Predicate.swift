/// A condition on objects, as NSPredicate states them: read from text with ``parse(_:)`` or put together in code.
///
/// A condition is true or false, never unknown: a comparison with a missing value is false, `!=` and `NOT` are the
/// opposites of `=` and of what they stand before.
///
/// For example: `title BEGINSWITH[c] 'work' AND (chat.title = nil OR ANY members.name IN {'Ada', 'Grace'})`.
public indirect enum Predicate: Sendable, Hashable {
    /// True of all objects, or of none.
    case constant(Bool)
    /// True where all are; without any it is true.
    case and([Predicate])
    /// True where one is; without any it is false.
    case or([Predicate])
    /// True where the other is not.
    case not(Predicate)
    /// True where two sides compare.
    case comparison(Comparison)

    /// A comparison of a property with values or with another property.
    public struct Comparison: Sendable, Hashable {
        /// How many objects of a to-many relationship have to compare, or nil without one.
        public var quantifier: Quantifier?
        /// The side with the property.
        public var left: Operand
        /// How the sides compare.
        public var relation: Relation
        /// The side with the values; `between` takes a list of two, `contained` one of any length.
        public var right: Operand
        /// Tells whether letters compare without regard to case.
        public var isCaseInsensitive: Bool

        /// Makes a comparison of two sides.
        public init(
            _ left: Operand, _ relation: Relation, _ right: Operand, quantifier: Quantifier? = nil,
            isCaseInsensitive: Bool = false
        ) {
            self.left = left
            self.relation = relation
            self.right = right
            self.quantifier = quantifier
            self.isCaseInsensitive = isCaseInsensitive
        }
    }

    /// How many objects have to compare.
    public enum Quantifier: String, Sendable, Hashable {
        /// At least one.
        case any
        /// All; without objects it is true.
        case all
        /// Not one.
        case none
    }

    /// How two sides compare.
    public enum Relation: String, Sendable, Hashable {
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

        /// Tells whether the relation is one of texts only.
        var isTextual: Bool {
            switch self {
            case .beginsWith, .contains, .endsWith, .like: true
            default: false
            }
        }
    }

    /// A side of a comparison.
    public enum Operand: Sendable, Hashable {
        case path(PropertyPath)
        case literal(Literal)
        case list([Literal])

        /// Makes an operand of a path such as `chat.title` or `members.@count`.
        public static func path(_ text: String) -> Operand { .path(PropertyPath(text)) }

        /// Makes an operand of a text, which a date, a uuid or a decimal may be stated by too.
        public static func text(_ text: String) -> Operand { .literal(Literal(.text(text))) }

        /// Makes an operand of a whole number.
        public static func number(_ number: Int64) -> Operand { .literal(Literal(.number(String(number)))) }

        /// The absent value.
        public static var null: Operand { .literal(Literal(.null)) }

        var column: Int? {
            switch self {
            case .path(let path): path.column
            case .literal(let literal): literal.column
            case .list(let literals): literals.first?.column
            }
        }
    }
}

/// A way from an object to a value: relationships, then a property.
public struct PropertyPath: Sendable, Hashable {
    /// The names along the way.
    public var names: [String]
    /// What stands behind the last point with an `@`, such as `count`, or nil.
    public var function: String?
    /// Where it stands in the text, or nil.
    public var column: Int?

    /// Makes a path of its names.
    public init(names: [String], function: String? = nil, column: Int? = nil) {
        self.names = names
        self.function = function
        self.column = column
    }

    /// Makes a path of a text such as `chat.title` or `members.@count`.
    public init(_ text: String, column: Int? = nil) {
        var names = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        var function: String?
        if let last = names.last, last.hasPrefix("@") {
            function = String(last.dropFirst())
            names.removeLast()
        }
        self.init(names: names, function: function, column: column)
    }

    var text: String { (names + (function.map { ["@" + $0] } ?? [])).joined(separator: ".") }
}

/// A value as a predicate states it, before the property that it is compared with gives it a type.
public struct Literal: Sendable, Hashable {
    /// The forms that a value is written in.
    public enum Content: Sendable, Hashable {
        case null
        case boolean(Bool)
        case number(String)
        case text(String)
    }

    /// The value.
    public var content: Content
    /// Where it stands in the text, or nil.
    public var column: Int?

    /// Makes a value.
    public init(_ content: Content, column: Int? = nil) {
        self.content = content
        self.column = column
    }
}
