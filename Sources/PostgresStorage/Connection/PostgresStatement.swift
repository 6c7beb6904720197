/// A statement with the values of its parameters in PostgreSQL's binary form.
///
/// The text gives each parameter its type, as in `$1::int8[]`: nothing else tells the server.
struct PostgresStatement {
    var sql: String
    /// The error that the statement stands for where the server refuses it by ``refusal(unless:_:)``.
    let refusal: StoreError?
    /// The values of all parameters, one after the other, behind one byte that keeps the list from being empty.
    private(set) var bytes: [UInt8] = [0]
    /// The places of the values in `bytes`; nil of a null.
    private(set) var places: [Range<Int>?] = []

    /// The places of numbers that count from one which the transaction finds.
    private var countedPlaces: [(place: Int, base: NumberBase)] = []

    /// The number before the first one of a count.
    enum NumberBase: String {
        case token, change

        /// The setting that keeps the number for the length of the transaction.
        var setting: String { "ingest.\(rawValue)" }
    }

    init(_ sql: String, refusal: StoreError? = nil) {
        self.sql = sql
        self.refusal = refusal
    }

    /// Returns an expression that fails unless a condition holds; then the server skips all up to the end of the round trip,
    /// the commit included. The server's log shows the words: a text that is no number.
    static func refusal(unless condition: String, _ words: String) -> String {
        "CAST(CASE WHEN \(condition) THEN '1' ELSE 'ingest: \(words)' END AS int8)"
    }

    /// The server's code for a text that is no number.
    static let refusalState = "22P02"

    /// Whether the statement opens a transaction.
    var opensTransaction: Bool { sql.hasPrefix("BEGIN") }

    /// Begins a transaction whose statements each see the commits before them, whatever the server's default is.
    static let begin = PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED")

    /// Begins a transaction that reads one snapshot.
    static let beginReading = PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    /// Bounds the time of each further statement of the transaction.
    static func limit(seconds: Double) -> PostgresStatement {
        var statement = PostgresStatement("SELECT set_config('statement_timeout', $1::text, true)")
        statement.bind("\(Int(seconds * 1000))")
        return statement
    }

    /// Stores values of the store itself under their keys.
    static func putMetadata(_ values: some Collection<(key: String, value: String)>) -> PostgresStatement {
        var statement = PostgresStatement(
            """
            INSERT INTO _metadata (key, value) SELECT * FROM unnest($1::text[], $2::text[]) \
            ON CONFLICT (key) DO UPDATE SET value = excluded.value
            """)
        statement.bind(values.map(\.key))
        statement.bind(values.map(\.value))
        return statement
    }

    /// Appends the values of another statement, and returns its text with the values' numbers in this statement.
    mutating func take(_ other: PostgresStatement) -> String {
        let (offset, shift) = (places.count, bytes.count)
        bytes += other.bytes
        places += other.places.map { $0.map { $0.lowerBound + shift..<$0.upperBound + shift } }
        var text = ""
        // A quoted name may have a `$`.
        var quote: Character?
        var rest = other.sql[...]
        while let character = rest.popFirst() {
            text.append(character)
            if character == quote { quote = nil } else if quote == nil, "'\"".contains(character) { quote = character }
            let digits = quote == nil && character == "$" ? rest.prefix { $0.isNumber } : ""
            guard let number = Int(digits) else { continue }
            text += "\(number + offset)"
            rest.removeFirst(digits.count)
        }
        return text
    }

    // MARK: Values

    /// Binds the values of the next parameters.
    mutating func bind<each Parameter: PostgresParameter>(_ values: repeat each Parameter) {
        for value in repeat each values { value.bind(to: &self) }
    }

    fileprivate mutating func bindNull() { places.append(nil) }

    fileprivate mutating func bind(writing write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        write(&bytes)
        places.append(start..<bytes.count)
    }

    /// Binds a value as one of a column.
    ///
    /// - Throws: ``StoreError`` with code `store.value` where the column cannot hold it.
    mutating func bind(_ value: Value, as kind: ColumnKind) throws(StoreError) {
        if value.isNull { return places.append(nil) }
        let start = bytes.count
        try kind.append(value, to: &bytes)
        places.append(start..<bytes.count)
    }

    /// Binds a number that counts from the last token or change, where the transaction is not open yet.
    mutating func bind(_ number: Int64, countedFrom base: NumberBase) {
        countedPlaces.append((places.count, base))
        bind(number)
    }

    /// The statement with such numbers counted from the numbers that the transaction keeps in its settings.
    var counted: PostgresStatement {
        var statement = self
        for (place, base) in countedPlaces {
            let number = "$\(place + 1)::int8"
            statement.sql = statement.sql.replacing(
                number, with: "(\(number) + (SELECT current_setting('\(base.setting)')::int8))")
        }
        return statement
    }

    // MARK: Lists

    /// Binds values in the form of a column.
    ///
    /// - Throws: as ``bind(_:as:)``.
    mutating func bind(
        _ values: some RandomAccessCollection<Value>, as kind: ColumnKind
    ) throws(StoreError) {
        try bindList(values, kind) { value, bytes throws(StoreError) in
            if !value.isNull { try kind.append(value, to: &bytes) }
            return !value.isNull
        }
    }

    /// Binds elements as a list; `write` returns false for a null.
    fileprivate mutating func bindList<Elements: Collection, Failure: Error>(
        _ elements: Elements, _ kind: ColumnKind, _ write: (Elements.Element, inout [UInt8]) throws(Failure) -> Bool
    ) throws(Failure) {
        let start = bytes.count
        appendHead(count: elements.count, element: kind)
        for element in elements {
            let place = bytes.count
            bytes.appendNumber(Int32(-1))
            if try write(element, &bytes) { bytes.setInt32(Int32(bytes.count - place - 4), at: place) }
        }
        places.append(start..<bytes.count)
    }

    /// The head of an array: dimensions, whether there are nulls, the type, the length, and the first index.
    private mutating func appendHead(count: Int, element: ColumnKind) {
        bytes.appendNumber(Int32(count == 0 ? 0 : 1))
        bytes.appendNumber(Int32(1))
        bytes.appendNumber(Int32(element.elementType))
        if count == 0 { return }
        bytes.appendNumber(Int32(count))
        bytes.appendNumber(Int32(1))
    }
}

/// The value of a parameter: an element, or a list of elements.
protocol PostgresParameter {
    func bind(to statement: inout PostgresStatement)
}

protocol PostgresElement: PostgresParameter {
    static var kind: ColumnKind { get }
    var isNull: Bool { get }
    func append(to bytes: inout [UInt8])
}

extension PostgresElement {
    var isNull: Bool { false }

    func bind(to statement: inout PostgresStatement) {
        if isNull { statement.bindNull() } else { statement.bind(writing: append(to:)) }
    }
}

extension Int64: PostgresElement {
    static var kind: ColumnKind { .bigint }
    func append(to bytes: inout [UInt8]) { bytes.appendNumber(self) }
}

extension String: PostgresElement {
    static var kind: ColumnKind { .text }
    func append(to bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }
}

extension Bool: PostgresElement {
    static var kind: ColumnKind { .boolean }
    func append(to bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
}

/// Bytes as one element, and no list.
struct Blob: PostgresElement {
    static var kind: ColumnKind { .bytea }
    let content: [UInt8]

    init(_ content: [UInt8]) { self.content = content }

    func append(to bytes: inout [UInt8]) { bytes += content }
}

extension Optional: PostgresParameter, PostgresElement where Wrapped: PostgresElement {
    static var kind: ColumnKind { Wrapped.kind }
    var isNull: Bool { self == nil }
    func append(to bytes: inout [UInt8]) { self?.append(to: &bytes) }
}

extension Array: PostgresParameter where Element: PostgresElement {
    func bind(to statement: inout PostgresStatement) {
        statement.bindList(self, Element.kind) { element, bytes in
            if !element.isNull { element.append(to: &bytes) }
            return !element.isNull
        }
    }
}

extension [UInt8] {
    /// Appends a number as the network sends it, the greatest byte first.
    mutating func appendNumber<Number: FixedWidthInteger & SignedInteger>(_ number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// Puts a number over four bytes.
    mutating func setInt32(_ number: Int32, at place: Int) {
        Swift.withUnsafeBytes(of: number.bigEndian) { source in
            for index in 0..<4 { self[place + index] = source[index] }
        }
    }
}
