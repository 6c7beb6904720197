import Foundation
import GRDBSQLite

/// The functions and collations that statements of ours use. They are registered on each connection, and SQLite refuses
/// them inside the schema: views and indexes stay readable for everybody.
enum SQLFunctions {
    private static let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY

    private typealias Scalar =
        @convention(c) (
            OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?
        ) -> Void

    /// Registers everything on a connection.
    static func install(_ connection: OpaquePointer) throws(StoreError) {
        let scalars: [(String, Int32, Scalar)] = [
            ("objectgraph_fold", 2, { SQLFunctions.fold($0, $2) }),
            ("objectgraph_canonical", 1, { SQLFunctions.apply(.canonical, $0, $2) }),
            ("objectgraph_lowercase", 1, { SQLFunctions.apply(.lowercase, $0, $2) }),
            ("objectgraph_uppercase", 1, { SQLFunctions.apply(.uppercase, $0, $2) }),
            ("objectgraph_contains", 2, { SQLFunctions.contains($0, $2) }),
            ("objectgraph_like", 2, { SQLFunctions.like($0, $2) }),
            ("objectgraph_matches", 3, { SQLFunctions.matches($0, $2) }),
            ("objectgraph_json", 2, { SQLFunctions.json($0, $2) }),
            ("objectgraph_decimal", 1, { SQLFunctions.decimal($0, $2) }),
            ("objectgraph_decimal_arithmetic", 3, { SQLFunctions.arithmetic($0, $2) }),
        ]
        for (name, count, function) in scalars {
            try check(
                sqlite3_create_function_v2(connection, name, count, flags, nil, function, nil, nil, nil))
        }
        try check(
            sqlite3_create_function_v2(
                connection, "objectgraph_sum", 2, flags, nil, nil, { SQLFunctions.addToSum($0, $2) },
                { SQLFunctions.endSum($0) }, nil))
        try check(
            sqlite3_create_function_v2(
                connection, "objectgraph_average", 1, flags, nil, nil, { SQLFunctions.addToAverage($0, $2) },
                { SQLFunctions.endAverage($0) },
                nil))
        try check(
            sqlite3_create_collation_v2(
                connection, DecimalCollation.name, SQLITE_UTF8, nil,
                { _, leftCount, left, rightCount, right in
                    let left = UnsafeRawBufferPointer(start: left, count: Int(leftCount))
                    let right = UnsafeRawBufferPointer(start: right, count: Int(rightCount))
                    return DecimalCollation.compare(left, right)
                }, nil))
    }

    private static func check(_ code: Int32) throws(StoreError) {
        if code != SQLITE_OK { throw StoreError(resultCode: code, action: "register functions") }
    }

    // MARK: Texts

    private static func fold(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let bytes = text(arguments?[0]) else { return sqlite3_result_null(context) }
        let options = FetchPredicate.TextOptions(rawValue: Int(sqlite3_value_int64(arguments?[1])))
        // Most texts have nothing to fold, and need no copy.
        let isPlain = bytes.allSatisfy { $0 < 0x80 && !($0 >= 0x41 && $0 <= 0x5A) }
        if isPlain { return sqlite3_result_value(context, arguments?[0]) }
        give(options.folded(String(decoding: bytes, as: UTF8.self)), context)
    }

    private static func apply(
        _ function: TextTransformation, _ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        guard let bytes = text(arguments?[0]) else { return sqlite3_result_null(context) }
        give(function.apply(String(decoding: bytes, as: UTF8.self)), context)
    }

    /// Compiles the pattern once for a statement: SQLite keeps it beside the parameter that does not change.
    private static func matches(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let bytes = text(arguments?[0]), let pattern = text(arguments?[1]) else {
            return sqlite3_result_null(context)
        }
        let expression: RegularExpression
        if let known = sqlite3_get_auxdata(context, 1) {
            expression = Unmanaged<RegularExpression>.fromOpaque(known).takeUnretainedValue()
        } else {
            let options = FetchPredicate.TextOptions(rawValue: Int(sqlite3_value_int64(arguments?[2])))
            guard let made = RegularExpression(String(decoding: pattern, as: UTF8.self), options: options) else {
                return sqlite3_result_null(context)
            }
            expression = made
            sqlite3_set_auxdata(context, 1, Unmanaged.passRetained(made).toOpaque()) { pointer in
                if let pointer { Unmanaged<RegularExpression>.fromOpaque(pointer).release() }
            }
        }
        sqlite3_result_int(context, expression.matches(String(decoding: bytes, as: UTF8.self)) ? 1 : 0)
    }

    /// As SQLite's own instr(), which takes the product of both lengths.
    private static func contains(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let bytes = text(arguments?[0]), let part = text(arguments?[1]) else {
            return sqlite3_result_null(context)
        }
        sqlite3_result_int(context, ByteSearch.contains(bytes, part) ? 1 : 0)
    }

    /// LIKE of NSPredicate; a NUL ends a text for SQLite's own GLOB, and so here.
    private static func like(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let bytes = text(arguments?[0]), let pattern = text(arguments?[1]) else {
            return sqlite3_result_null(context)
        }
        let subject = UnsafeBufferPointer(rebasing: bytes[..<(bytes.firstIndex(of: 0) ?? bytes.endIndex)])
        let isLike = TextPatterns.matches(
            String(decoding: subject, as: UTF8.self), like: String(decoding: pattern, as: UTF8.self))
        sqlite3_result_int(context, isLike ? 1 : 0)
    }

    /// Writes a stored value as JSON; the first argument is the name of the attribute's type.
    private static func json(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let name = text(arguments?[0]),
            let type = AttributeType(rawValue: String(decoding: name, as: UTF8.self))
        else { return sqlite3_result_null(context) }
        var output = ""
        type.appendJSON(anyValue(arguments?[1]), to: &output)
        give(output, context)
    }

    // MARK: Decimals

    private static func decimal(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        give(value(arguments?[0]).decimal, context)
    }

    /// The operator is the first argument; the result is null without an operand, and on division by zero.
    private static func arithmetic(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let left = value(arguments?[1]).decimal, let right = value(arguments?[2]).decimal,
            let sign = value(arguments?[0]).text
        else { return sqlite3_result_null(context) }
        give(FetchPredicate.ArithmeticOperator(rawValue: sign)?.arithmetic.computed(left, right), context)
    }

    // MARK: Aggregates

    /// Both, for either aggregate: which of them is asked for shows at the end.
    private final class Sum {
        var sum: RunningSum
        var average = RunningAverage(of: .decimal, for: .decimal)

        init(_ type: AttributeType) { sum = RunningSum(for: type) }
    }

    /// The second argument is the kind of the sum's values: 0 whole numbers, 1 binary fractions, 2 decimals.
    private static func addToSum(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        let types: [AttributeType] = [.integer64, .double, .decimal]
        let type = types[Int(max(0, min(2, sqlite3_value_int(arguments?[1]))))]
        guard let sum = sum(context, type) else { return sqlite3_result_error_nomem(context) }
        sum.sum.add(value(arguments?[0]))
    }

    private static func endSum(_ context: OpaquePointer?) {
        guard let sum = takeSum(context) else { return sqlite3_result_null(context) }
        give(sum.sum.value, context)
    }

    private static func addToAverage(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let sum = sum(context, .decimal) else { return sqlite3_result_error_nomem(context) }
        sum.average.add(value(arguments?[0]))
    }

    private static func endAverage(_ context: OpaquePointer?) {
        guard let sum = takeSum(context) else { return sqlite3_result_null(context) }
        give(sum.average.value, context)
    }

    /// SQLite's memory for the aggregate holds a pointer to ours, which has an alignment of its own.
    private static func sum(_ context: OpaquePointer?, _ type: AttributeType) -> Sum? {
        let size = Int32(MemoryLayout<UnsafeMutableRawPointer?>.size)
        guard let memory = sqlite3_aggregate_context(context, size) else { return nil }
        let slot = memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        if let known = slot.pointee { return Unmanaged<Sum>.fromOpaque(known).takeUnretainedValue() }
        let made = Sum(type)
        slot.pointee = Unmanaged.passRetained(made).toOpaque()
        return made
    }

    private static func takeSum(_ context: OpaquePointer?) -> Sum? {
        guard let memory = sqlite3_aggregate_context(context, 0) else { return nil }
        let slot = memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        defer { slot.pointee = nil }
        return slot.pointee.map { Unmanaged<Sum>.fromOpaque($0).takeRetainedValue() }
    }

    // MARK: Values

    private static func text(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8>? {
        guard sqlite3_value_type(value) == SQLITE_TEXT, let start = sqlite3_value_text(value) else { return nil }
        return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
    }

    /// A value of any storage class, a blob too.
    private static func anyValue(_ value: OpaquePointer?) -> Value {
        guard sqlite3_value_type(value) == SQLITE_BLOB else { return self.value(value) }
        let bytes = UnsafeRawBufferPointer(start: sqlite3_value_blob(value), count: Int(sqlite3_value_bytes(value)))
        return .blob([UInt8](bytes))
    }

    private static func value(_ value: OpaquePointer?) -> Value {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: .double(sqlite3_value_double(value))
        default: text(value).map { .text(String(decoding: $0, as: UTF8.self)) } ?? .null
        }
    }

    private static func give(_ number: Decimal?, _ context: OpaquePointer?) {
        guard let number else { return sqlite3_result_null(context) }
        give(DecimalText.text(number), context)
    }

    private static func give(_ value: Value, _ context: OpaquePointer?) {
        switch value {
        case .integer(let number): sqlite3_result_int64(context, number)
        case .double(let number): sqlite3_result_double(context, number)
        case .text(let text): give(text, context)
        case .null, .blob: sqlite3_result_null(context)
        }
    }

    private static func give(_ text: String, _ context: OpaquePointer?) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else { return sqlite3_result_text(context, "", 0, nil) }
                sqlite3_result_text(
                    context, start, Int32(bytes.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            }
        }
    }
}
