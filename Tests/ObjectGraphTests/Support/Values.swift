import ObjectGraph

@testable import GraphCore

extension Value: ExpressibleByNilLiteral {
    /// Makes null.
    public init(nilLiteral: ()) { self = .null }
}

extension Value {
    /// The value as a dump shows it.
    var shown: String {
        switch self {
        case .null: "null"
        case .integer(let number): String(number)
        case .double(let number): "\(number)"
        case .text(let text): "'\(text)'"
        case .blob(let bytes):
            "X'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined() + "'"
        }
    }
}

/// What a test's event says of one property: a value, a list of identities, or an edit of one.
enum Property {
    case value(Value)
    case replace([Value])
    case edit(add: [Value], remove: [Value])

    static func add(_ identities: Value...) -> Property { .edit(add: identities, remove: []) }
    static func remove(_ identities: Value...) -> Property { .edit(add: [], remove: identities) }
}

extension Property: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral
{
    init(stringLiteral text: String) { self = .value(.text(text)) }
    init(integerLiteral number: Int64) { self = .value(.integer(number)) }
    init(floatLiteral number: Double) { self = .value(.double(number)) }
    init(nilLiteral: ()) { self = .value(.null) }
    init(arrayLiteral elements: Value...) { self = .replace(elements) }
}
