/// SQL with the values of its parameters.
///
/// A string literal makes one. An interpolated text or fragment becomes a part of the SQL, and `\(bind: value)` becomes a
/// parameter. An engine renders the parameters in its own way.
package struct SQLFragment: ExpressibleByStringInterpolation, Sendable {
    /// The texts between the parameters, one more than these.
    private var texts: [String]
    package private(set) var parameters: [SQLParameter] = []

    package init(_ text: String) { texts = [text] }

    package init(stringLiteral text: String) { texts = [text] }

    package init(stringInterpolation: Interpolation) { self = stringInterpolation.fragment }

    package struct Interpolation: StringInterpolationProtocol {
        fileprivate var fragment = SQLFragment("")

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) { fragment.append(literal) }
        package mutating func appendInterpolation(_ text: String) { fragment.append(text) }
        package mutating func appendInterpolation(_ number: some FixedWidthInteger) { fragment.append("\(number)") }
        package mutating func appendInterpolation(_ other: SQLFragment) { fragment += other }
        package mutating func appendInterpolation(bind parameter: SQLParameter) { fragment.append(parameter) }
        package mutating func appendInterpolation(bind number: Int64) { fragment.append(.integer(number)) }
        package mutating func appendInterpolation(bind text: String) { fragment.append(.text(text)) }
    }

    private mutating func append(_ text: String) { texts[texts.count - 1] += text }

    private mutating func append(_ parameter: SQLParameter) {
        parameters.append(parameter)
        texts.append("")
    }

    package static func += (left: inout SQLFragment, right: SQLFragment) {
        left.texts[left.texts.count - 1] += right.texts[0]
        left.texts += right.texts[1...]
        left.parameters += right.parameters
    }

    /// Returns the SQL with each parameter as an engine writes it.
    ///
    /// - Parameter placeholder: takes the number of a parameter, which counts from 1, and the parameter.
    package func text(_ placeholder: (Int, SQLParameter) -> String) -> String {
        var text = texts[0]
        for (index, parameter) in parameters.enumerated() {
            text += placeholder(index + 1, parameter)
            text += texts[index + 1]
        }
        return text
    }
}

/// The value of a parameter.
package enum SQLParameter: Sendable {
    case integer(Int64?)
    case text(String?)
    /// A value as the column of an attribute's type holds it.
    case column(Value, AttributeType)
    /// A value of any type, as the store's own tables hold identities.
    case recorded(Value)
    case integers([Int64])
    case texts([String])
}

extension [SQLFragment] {
    /// Returns the parts with a word between them; of no parts, the condition that is always true.
    package func joined(_ separator: String) -> SQLFragment {
        guard var result = first else { return "true" }
        for part in dropFirst() { result += "\(separator)\(part)" }
        return result
    }

    /// The conditions that all hold.
    package var conjunction: SQLFragment { joined(" AND ") }
}
