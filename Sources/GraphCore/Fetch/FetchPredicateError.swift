/// A mistake in a fetch request: a stable code, the place in the text, and the remedy.
public struct FetchPredicateError: CodedError, Equatable {
    /// The kinds of mistake; the raw values are stable and meant for scripts and logs.
    public enum Code: String, Sendable {
        /// The text does not follow the grammar.
        case syntax = "predicate.syntax"
        /// The model has no such entity.
        case unknownEntity = "predicate.unknown_entity"
        /// The entity has no such property.
        case unknownProperty = "predicate.unknown_property"
        /// A value or an operator does not fit the property's type.
        case type = "predicate.type"
        /// NSPredicate has it, and this language does not.
        case unsupported = "predicate.unsupported"
        /// The condition is nested too deeply or too long.
        case tooComplex = "predicate.too_complex"
        /// A limit or an offset is negative.
        case range = "predicate.range"
        /// Placeholders and arguments do not match, or a variable has no value.
        case arguments = "predicate.arguments"
        /// A paging cursor is broken, or belongs to another request.
        case cursor = "predicate.cursor"
    }

    /// The part of a request with the mistake.
    public enum Part: String, Sendable {
        case condition, order, properties, grouping, having
    }

    /// The kind of mistake.
    public let code: Code
    /// The problem.
    public let message: String
    /// The column in the text, counted in Unicode scalars from 1, or nil without a text.
    public let column: Int?
    /// The part whose text the column is in.
    public private(set) var part = Part.condition
    /// The number of the text in its part, from 1: an order and the properties may have several.
    public private(set) var number = 1
    /// The remedy.
    public let remedy: String

    /// The column and the part of the request.
    public var location: String? { column.map { "column \($0)\(partName)" } }

    /// Everything in one line.
    public var description: String {
        "\(message)\(location.map { " at \($0)" } ?? ""). \(remedy) [\(code.rawValue)]"
    }

    private var partName: String {
        switch part {
        case .condition: ""
        case .having: " of the condition on groups"
        case .order: " of sort key \(number)"
        case .properties: " of fetched property \(number)"
        case .grouping: " of grouping \(number)"
        }
    }

    /// Returns the error for a text of another part.
    func located(in part: Part, _ number: Int = 1) -> FetchPredicateError {
        var error = self
        error.part = part
        error.number = number
        return error
    }

    package init(_ code: Code, _ message: String, at column: Int?, remedy: String) {
        self.code = code
        self.message = message
        self.column = column
        self.remedy = remedy
    }

    /// Returns the text with a mark below the column, for terminals; empty without a column.
    public func excerpt(of text: String) -> String {
        guard let column else { return "" }
        let line = String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 ? " " : $0 }))
        return line + "\n" + String(repeating: " ", count: max(0, column - 1)) + "^"
    }
}
