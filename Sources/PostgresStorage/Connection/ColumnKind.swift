/// The type of a column in PostgreSQL, with the binary form of its values.
enum ColumnKind {
    case text, smallint, integer, bigint, double, boolean, uuid, bytea
    /// An instant. The graph's dates are whole microseconds of the years 1 to 9999, which the type holds exactly.
    case timestamp
    /// A decimal, whose text keeps its digits. Its parameters and results are texts.
    case numeric
    /// A value of any form, such as an identity in the history: a byte for the form, then the value. The bytes of
    /// identities sort as the graph sorts values.
    case anyValue

    init(_ type: AttributeType) {
        switch type {
        case .string, .uri, .transformable: self = .text
        case .integer16: self = .smallint
        case .integer32: self = .integer
        case .integer64: self = .bigint
        case .double, .float: self = .double
        case .decimal: self = .numeric
        case .boolean: self = .boolean
        case .date: self = .timestamp
        case .uuid: self = .uuid
        case .binary: self = .bytea
        }
    }

    /// The kind of a column of a store's table; nil of a slot, whose attribute tells.
    init?(_ form: StoreTable.Form) {
        switch form {
        case .integer: self = .bigint
        case .number32: self = .integer
        case .number16: self = .smallint
        case .text: self = .text
        case .bytes: self = .bytea
        case .flag: self = .boolean
        case .anyValue: self = .anyValue
        case .slot: return nil
        }
    }

    /// The column's type as a schema states it. Texts are in the order of their bytes.
    var declaration: String {
        switch self {
        case .text: "text COLLATE \"C\""
        case .smallint: "smallint"
        case .integer: "integer"
        case .bigint: "bigint"
        case .double: "double precision"
        case .boolean: "boolean"
        case .uuid: "uuid"
        case .bytea, .anyValue: "bytea"
        case .timestamp: "timestamptz"
        case .numeric: "numeric"
        }
    }

    /// The type of a parameter with one value.
    var parameterType: String {
        switch self {
        case .text, .numeric: "text"
        case .smallint, .integer, .bigint: "int8"
        case .double: "float8"
        default: declaration
        }
    }

    /// The number that the server has for the type of a parameter's elements.
    var elementType: Int {
        switch self {
        case .text, .numeric: 25
        case .smallint, .integer, .bigint: 20
        case .double: 701
        case .boolean: 16
        case .uuid: 2950
        case .bytea, .anyValue: 17
        case .timestamp: 1184
        }
    }

    /// The parameter of a number that holds a list of values, as `unnest` takes it.
    func list(_ number: Int) -> String { "$\(number)::\(parameterType)[]" }

    /// The same list as values of the column, as `ANY` takes it.
    func comparableList(_ number: Int) -> String { self == .numeric ? list(number) + "::numeric[]" : list(number) }

    /// The parameter of a number that holds one value of the column.
    func parameter(_ number: Int) -> String { stored("$\(number)::\(parameterType)") }

    /// A parameter's value as a value of the column.
    func stored(_ expression: String) -> String { self == .numeric ? expression + "::numeric" : expression }

    /// A column as a query returns it.
    func selected(_ column: String) -> String { self == .numeric ? column + "::text" : column }
}

// MARK: - Binary forms

extension ColumnKind {
    /// Microseconds from 1970 to 2000, where PostgreSQL's time begins.
    private static let epoch: Int64 = 946_684_800_000_000

    /// Appends the binary form of a value that is not null.
    ///
    /// - Throws: ``StoreError`` with code `store.value` where the column cannot hold it.
    func append(_ value: Value, to bytes: inout [UInt8]) throws(StoreError) {
        switch (self, value) {
        case (.anyValue, _): Self.appendTagged(value, to: &bytes)
        case (.text, .text(let text)), (.numeric, .text(let text)): bytes.append(contentsOf: text.utf8)
        case (.smallint, .integer(let number)), (.integer, .integer(let number)), (.bigint, .integer(let number)):
            bytes.appendNumber(number)
        case (.double, _): try appendDouble(value, to: &bytes)
        case (.boolean, .integer(let number)): bytes.append(UInt8(number == 0 ? 0 : 1))
        case (.uuid, .blob(let blob)), (.bytea, .blob(let blob)): bytes.append(contentsOf: blob)
        case (.timestamp, .integer(let time)):
            let (number, isTooSmall) = time.subtractingReportingOverflow(Self.epoch)
            // The greatest and the smallest number mean infinity there.
            if isTooSmall || number == .min || number == .max { throw Self.misfit }
            bytes.appendNumber(number)
        default: throw Self.misfit
        }
    }

    private func appendDouble(_ value: Value, to bytes: inout [UInt8]) throws(StoreError) {
        guard let number = value.number else { throw Self.misfit }
        // As in SQLite, a negative zero is zero.
        bytes.appendNumber(Int64(bitPattern: (number + 0).bitPattern))
    }

    private static let misfit = StoreError(
        .value, "A value does not have the form of its column", remedy: "Correct the event")

    /// Returns the value of a cell that is not null.
    func value(_ cell: UnsafeRawBufferPointer) -> Value {
        switch self {
        case .text, .numeric: .text(String(decoding: cell, as: UTF8.self))
        case .smallint, .integer, .bigint: .integer(cell.wholeNumber)
        case .double: .double(Double(bitPattern: UInt64(bitPattern: cell.wholeNumber)))
        case .boolean: .integer(cell.first == 0 ? 0 : 1)
        case .uuid, .bytea: .blob(Array(cell))
        case .timestamp: .integer(cell.wholeNumber &+ Self.epoch)
        case .anyValue: Self.tagged(cell)
        }
    }

    // MARK: Values of any form

    /// A column's value in the form of ``anyValue``, for the kinds of identities.
    func tagged(_ column: String) -> String {
        switch self {
        case .smallint, .integer, .bigint:
            "'\\x69'::bytea || int8send(\(column)::bigint # (-9223372036854775808))"
        case .text: "'\\x74'::bytea || convert_to(\(column), 'UTF8')"
        case .uuid: "'\\x78'::bytea || uuid_send(\(column))"
        default: "'\\x78'::bytea || \(column)"
        }
    }

    enum Tag {
        static let integer: UInt8 = 0x69, double: UInt8 = 0x6a, text: UInt8 = 0x74, blob: UInt8 = 0x78
    }

    private static func appendTagged(_ value: Value, to bytes: inout [UInt8]) {
        switch value {
        case .null: break
        case .integer(let number):
            bytes.append(Tag.integer)
            // With the sign turned over, the bytes of whole numbers sort as the numbers do.
            bytes.appendNumber(number ^ .min)
        case .double(let number):
            bytes.append(Tag.double)
            bytes.appendNumber(Int64(bitPattern: number.bitPattern))
        case .text(let text):
            bytes.append(Tag.text)
            bytes.append(contentsOf: text.utf8)
        case .blob(let blob):
            bytes.append(Tag.blob)
            bytes.append(contentsOf: blob)
        }
    }

    private static func tagged(_ cell: UnsafeRawBufferPointer) -> Value {
        guard let tag = cell.first else { return .null }
        let rest = UnsafeRawBufferPointer(rebasing: cell.dropFirst())
        switch tag {
        case Tag.integer: return .integer(rest.wholeNumber ^ .min)
        case Tag.double: return .double(Double(bitPattern: UInt64(bitPattern: rest.wholeNumber)))
        case Tag.text: return .text(String(decoding: rest, as: UTF8.self))
        default: return .blob(Array(rest))
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The whole number of two, four or eight bytes.
    var wholeNumber: Int64 {
        let isNegative = (first ?? 0) >= 0x80
        return reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }
}
