import GRDBSQLite

/// Makes expressions of a batch request known to SQLite, so that they are computed exactly as derived attributes are.
///
/// `_arithmetic(N, …)` computes the expression of number N over the values of its slots, in their order. The function
/// is there while the object is; a connection has one at a time, for all entities of a request.
final class ArithmeticFunction {
    private struct Expression {
        /// Nil where the attribute's own derivation is computed.
        let expression: ArithmeticExpression?
        let slots: [Int]
        let attribute: Attribute
        let slotCount: Int
    }

    static let name = "_arithmetic"
    private let connection: OpaquePointer
    private var expressions: [Expression] = []

    init(_ connection: OpaquePointer) throws(StoreError) {
        self.connection = connection
        let code = sqlite3_create_function_v2(
            connection, Self.name, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, Unmanaged.passUnretained(self).toOpaque(),
            { context, count, arguments in
                guard let context, let arguments, count > 0, let data = sqlite3_user_data(context) else { return }
                let function = Unmanaged<ArithmeticFunction>.fromOpaque(data).takeUnretainedValue()
                function.compute(context, UnsafeBufferPointer(start: arguments, count: Int(count)))
            }, nil, nil, nil)
        guard code == SQLITE_OK else { throw StoreError(resultCode: code, action: "define a function") }
    }

    deinit {
        sqlite3_create_function_v2(connection, Self.name, -1, SQLITE_UTF8, nil, nil, nil, nil, nil)
    }

    /// Returns the SQL of an expression, or of a derived attribute where there is none, given the SQL of each slot's value.
    func sql(
        _ expression: ArithmeticExpression?, of attribute: Attribute, _ entity: Entity, value: (Int) -> String
    ) -> String {
        let slots = (expression?.slots ?? attribute.ownSlots).sorted()
        expressions.append(
            Expression(expression: expression, slots: slots, attribute: attribute, slotCount: entity.slotCount))
        return "\(Self.name)(\(([String(expressions.count - 1)] + slots.map(value)).joined(separator: ", ")))"
    }

    private func compute(_ context: OpaquePointer, _ arguments: UnsafeBufferPointer<OpaquePointer?>) {
        let entry = expressions[Int(sqlite3_value_int64(arguments[0]))]
        var values = [Value](repeating: .null, count: entry.slotCount)
        for (position, slot) in entry.slots.enumerated() {
            guard let argument = arguments[position + 1] else { continue }
            values[slot] = Self.value(argument)
        }
        switch entry.expression?.value(values, of: entry.attribute) ?? entry.attribute.ownDerivedValue(values) {
        case .integer(let number): sqlite3_result_int64(context, number)
        case .double(let number): sqlite3_result_double(context, number)
        case .text(var text):
            text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    sqlite3_result_text(context, $0.baseAddress, Int32($0.count), Self.copiesAtOnce)
                }
            }
        case .blob(let bytes):
            bytes.withUnsafeBytes {
                sqlite3_result_blob(context, $0.baseAddress, Int32($0.count), Self.copiesAtOnce)
            }
        case .null: sqlite3_result_null(context)
        }
    }

    /// SQLITE_TRANSIENT: SQLite copies the bytes before the call returns.
    private static var copiesAtOnce: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    private static func value(_ argument: OpaquePointer) -> Value {
        switch sqlite3_value_type(argument) {
        case SQLITE_INTEGER: return .integer(sqlite3_value_int64(argument))
        case SQLITE_FLOAT: return .double(sqlite3_value_double(argument))
        case SQLITE_TEXT:
            guard let start = sqlite3_value_text(argument) else { return .null }
            let count = Int(sqlite3_value_bytes(argument))
            return .text(String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
        case SQLITE_BLOB:
            let count = Int(sqlite3_value_bytes(argument))
            return .blob([UInt8](UnsafeRawBufferPointer(start: sqlite3_value_blob(argument), count: count)))
        default: return .null
        }
    }
}
