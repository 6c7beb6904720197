extension FetchPredicate {
    /// The computation of a side of a comparison, a sort key or a fetched property, for each object.
    public indirect enum Expression: Sendable, Hashable {
        /// A value.
        case literal(Literal)
        /// A key path, `SELF`, or a `$variable` with or without a path after it.
        case path(PropertyPath)
        /// Several values, for `IN` and `BETWEEN`.
        case list([Expression])
        /// The negated number.
        case negated(Expression)
        /// Arithmetic on two numbers, or on a date and seconds.
        case arithmetic(Expression, ArithmeticOperator, Expression)
        /// A function of values, such as `lowercase:(title)`.
        case function(FunctionCall)
        /// An aggregate of the objects of a to-many relationship that match a predicate.
        case subquery(Subquery)

        /// Makes an expression from a path such as `chat.title`, `members.@count`, `SELF` or `$x.name`.
        public static func path(_ text: String) -> Expression { .path(PropertyPath(text)) }

        /// Makes an expression from a text, which may also state a date, a UUID or a decimal.
        public static func text(_ text: String) -> Expression { .literal(Literal(.text(text))) }

        /// Makes an expression from a whole number.
        public static func number(_ number: Int64) -> Expression { .literal(Literal(.number(String(number)))) }

        /// Makes an expression from a Boolean.
        public static func boolean(_ flag: Bool) -> Expression { .literal(Literal(.boolean(flag))) }

        /// Makes an expression from an instant in microseconds since 1970 UTC.
        public static func date(_ microseconds: Int64) -> Expression { .literal(Literal(.date(microseconds))) }

        /// The absent value.
        public static var null: Expression { .literal(Literal(.null)) }

        /// The column of the expression's first character, counted in Unicode scalars from 1, or nil.
        package var column: Int? {
            switch self {
            case .path(let path): path.column
            case .literal(let literal): literal.column
            case .list(let expressions): expressions.first?.column
            case .negated(let operand): operand.column
            case .arithmetic(let left, _, _): left.column
            case .function(let call): call.column
            case .subquery(let subquery): subquery.column
            }
        }

        /// Tells whether the expression is a literal, which takes its type from the other side of the comparison.
        package var isLiteral: Bool {
            switch self {
            case .literal: true
            case .list(let expressions): expressions.allSatisfy(\.isLiteral)
            default: false
            }
        }
    }

    /// An arithmetic operator; the raw value is its sign.
    public enum ArithmeticOperator: String, Sendable, Hashable, CaseIterable {
        case add = "+"
        case subtract = "-"
        case multiply = "*"
        case divide = "/"
    }

    /// A function with its arguments.
    public struct FunctionCall: Sendable, Hashable {
        /// The name without a colon, in lower case.
        public var name: String
        /// The arguments.
        public var arguments: [Expression]
        private var place: TextPlace

        /// The column in the text, or nil.
        public var column: Int? {
            get { place.column }
            set { place.column = newValue }
        }

        /// Makes a call such as `lowercase:(title)`.
        public init(_ name: String, _ arguments: [Expression] = [], column: Int? = nil) {
            self.name = name
            self.arguments = arguments
            place = TextPlace(column: column)
        }
    }

    /// `SUBQUERY(collection, $variable, predicate).@count`, or another aggregate after the point.
    public struct Subquery: Sendable, Hashable {
        /// The to-many relationship, from the object or from a variable.
        public var collection: PropertyPath
        /// The variable's name for an object of the collection, without its `$`.
        public var variable: String
        /// The condition on the objects.
        public var predicate: FetchPredicate
        /// The aggregate of the matching objects; its names lead from such an object to a value.
        public var aggregate: PropertyPath

        /// Makes the number of the objects that match a predicate.
        public init(
            _ collection: PropertyPath, _ variable: String, _ predicate: FetchPredicate,
            aggregate: PropertyPath = PropertyPath(names: [], function: "count")
        ) {
            self.collection = collection
            self.variable = variable
            self.predicate = predicate
            self.aggregate = aggregate
        }

        package var column: Int? { collection.column }
    }
}

/// A path from an object to a value: relationships, then a property, then an aggregate of the values.
public struct PropertyPath: Sendable, Hashable {
    /// The `$variable` at the beginning of the path, without its `$`; nil for the object itself.
    public var root: String?
    /// The names along the path; empty for the object itself.
    public var names: [String]
    /// The aggregate of the values at the end (`count`, `sum`, `min`, `max` or `avg`), or nil.
    public var function: String?
    private var place: TextPlace

    /// The column in the text, or nil.
    public var column: Int? {
        get { place.column }
        set { place.column = newValue }
    }

    /// Makes a path from its names.
    public init(names: [String], function: String? = nil, root: String? = nil, column: Int? = nil) {
        self.root = root
        self.names = names
        self.function = function
        place = TextPlace(column: column)
    }

    /// Makes a path from a text such as `chat.title`, `members.@count`, `items.@sum.price` or `$x.name`.
    public init(_ text: String, column: Int? = nil) {
        var names = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        var root: String?
        var function: String?
        if let first = names.first, first.hasPrefix("$") {
            root = String(first.dropFirst())
            names.removeFirst()
        } else if let first = names.first, first.uppercased() == "SELF" {
            names.removeFirst()
        }
        if let position = names.firstIndex(where: { $0.hasPrefix("@") }) {
            function = String(names[position].dropFirst())
            names.remove(at: position)
        }
        names = names.map { $0.hasPrefix("#") ? String($0.dropFirst()) : $0 }
        self.init(names: names, function: function, root: root, column: column)
    }

    /// Tells whether the path is only a `$variable`.
    var isVariable: Bool { root != nil && names.isEmpty && function == nil }

    /// The path as text.
    package var text: String {
        var parts = names.map { PredicateParser.isKeyword($0) ? "#" + $0 : $0 }
        if let root { parts.insert("$" + root, at: 0) }
        if let function { parts.append("@" + function) }
        return parts.isEmpty ? "SELF" : parts.joined(separator: ".")
    }
}

/// A literal value of a predicate, before the other side of the comparison gives it a type.
public struct Literal: Sendable, Hashable {
    /// The forms of literals.
    public enum Content: Sendable, Hashable {
        case null
        case boolean(Bool)
        /// A number as written.
        case number(String)
        case text(String)
        /// Microseconds since 1970 UTC.
        case date(Int64)
        /// 16 bytes.
        case uuid([UInt8])
        case binary([UInt8])
        /// A value in stored form, with the type of the other side of the comparison.
        case stored(Value)
    }

    /// The value.
    public var content: Content
    private var place: TextPlace

    /// The column in the text, or nil.
    public var column: Int? {
        get { place.column }
        set { place.column = newValue }
    }

    /// Makes a value.
    public init(_ content: Content, column: Int? = nil) {
        self.content = content
        place = TextPlace(column: column)
    }
}

/// A place in a text. All places are equal, so that equal predicates may differ in their places.
struct TextPlace: Sendable, Hashable {
    var column: Int?

    static func == (left: TextPlace, right: TextPlace) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}
