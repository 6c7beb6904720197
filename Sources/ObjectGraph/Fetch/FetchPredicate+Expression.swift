extension FetchPredicate {
    /// What a side of a comparison, a sort key or a fetched property computes for each object.
    public indirect enum Expression: Sendable, Hashable {
        /// A value.
        case literal(Literal)
        /// A key path, `SELF`, or a `$variable` with or without a path behind it.
        case path(PropertyPath)
        /// Several values, for `IN` and `BETWEEN`.
        case list([Expression])
        /// The number with its sign turned.
        case negated(Expression)
        /// Two numbers, or a date and seconds, computed.
        case arithmetic(Expression, ArithmeticOperator, Expression)
        /// A function of values, such as `lowercase:(title)`.
        case function(FunctionCall)
        /// Those objects of a to-many relationship that a predicate is true of, counted or summed up.
        case subquery(Subquery)

        /// Makes an expression of a path such as `chat.title`, `members.@count`, `SELF` or `$x.name`.
        public static func path(_ text: String) -> Expression { .path(PropertyPath(text)) }

        /// Makes an expression of a text, which a date, a uuid or a decimal may be stated by too.
        public static func text(_ text: String) -> Expression { .literal(Literal(.text(text))) }

        /// Makes an expression of a whole number.
        public static func number(_ number: Int64) -> Expression { .literal(Literal(.number(String(number)))) }

        /// Makes an expression of a truth value.
        public static func boolean(_ flag: Bool) -> Expression { .literal(Literal(.boolean(flag))) }

        /// Makes an expression of an instant in microseconds since 1970 UTC.
        public static func date(_ microseconds: Int64) -> Expression { .literal(Literal(.date(microseconds))) }

        /// The absent value.
        public static var null: Expression { .literal(Literal(.null)) }

        /// Where the expression begins in its text, counted in Unicode scalars from 1, or nil.
        var column: Int? {
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

        /// Tells whether the expression is a value as written, which takes its type from what it is compared with.
        var isLiteral: Bool {
            switch self {
            case .literal: true
            case .list(let expressions): expressions.allSatisfy(\.isLiteral)
            default: false
            }
        }
    }

    /// What arithmetic does; the raw value is its sign.
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
        /// The values it is given.
        public var arguments: [Expression]
        private var place: TextPlace

        /// Where it stands in the text, or nil.
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

    /// `SUBQUERY(collection, $variable, predicate).@count`, or another aggregate behind the point.
    public struct Subquery: Sendable, Hashable {
        /// The to-many relationship, from the object or from a variable.
        public var collection: PropertyPath
        /// The name that stands for an object of the collection, without its `$`.
        public var variable: String
        /// Which of the objects count.
        public var predicate: FetchPredicate
        /// What is computed over them: the names lead from such an object to a value.
        public var aggregate: PropertyPath

        /// Makes the number of the objects that a predicate is true of.
        public init(
            _ collection: PropertyPath, _ variable: String, _ predicate: FetchPredicate,
            aggregate: PropertyPath = PropertyPath(names: [], function: "count")
        ) {
            self.collection = collection
            self.variable = variable
            self.predicate = predicate
            self.aggregate = aggregate
        }

        var column: Int? { collection.column }
    }
}

/// A way from an object to a value: relationships, then a property, then an aggregate of what they lead to.
public struct PropertyPath: Sendable, Hashable {
    /// The `$variable` in which the path begins, without its `$`; nil for the object itself.
    public var root: String?
    /// The names along the way; without any, the path is the object itself.
    public var names: [String]
    /// The aggregate of all that the names lead to (`count`, `sum`, `min`, `max` or `avg`), or nil.
    public var function: String?
    private var place: TextPlace

    /// Where it stands in the text, or nil.
    public var column: Int? {
        get { place.column }
        set { place.column = newValue }
    }

    /// Makes a path of its names.
    public init(names: [String], function: String? = nil, root: String? = nil, column: Int? = nil) {
        self.root = root
        self.names = names
        self.function = function
        place = TextPlace(column: column)
    }

    /// Makes a path of a text such as `chat.title`, `members.@count`, `items.@sum.price` or `$x.name`.
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

    /// Tells whether the path is a `$variable` and nothing else.
    var isVariable: Bool { root != nil && names.isEmpty && function == nil }

    /// The path as text.
    var text: String {
        var parts = names.map { PredicateParser.isKeyword($0) ? "#" + $0 : $0 }
        if let root { parts.insert("$" + root, at: 0) }
        if let function { parts.append("@" + function) }
        return parts.isEmpty ? "SELF" : parts.joined(separator: ".")
    }
}

/// A value as a predicate states it, before what it is compared with gives it a type.
public struct Literal: Sendable, Hashable {
    /// The forms that a value is written in.
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
        /// A value in stored form, whose type is that of what it is compared with.
        case stored(Value)
    }

    /// The value.
    public var content: Content
    private var place: TextPlace

    /// Where it stands in the text, or nil.
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

/// A place in a text; predicates are equal wherever they stand.
struct TextPlace: Sendable, Hashable {
    var column: Int?

    static func == (left: TextPlace, right: TextPlace) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}
