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

    /// Takes the values of another statement over, and returns its text with the numbers that they have here.
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

    // MARK: Single values

    mutating func bind(_ number: Int64?) {
        guard let number else { return places.append(nil) }
        bind { $0.appendNumber(number) }
    }

    mutating func bind(_ text: String?) {
        guard let text else { return places.append(nil) }
        bind { $0.append(contentsOf: text.utf8) }
    }

    mutating func bind(_ blob: [UInt8]?) {
        guard let blob else { return places.append(nil) }
        bind { $0.append(contentsOf: blob) }
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

    private mutating func bind(_ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        write(&bytes)
        places.append(start..<bytes.count)
    }

    /// Binds a number that counts from the last token or change, where the transaction is not open yet.
    mutating func bind(_ number: Int64, countedFrom base: NumberBase) {
        countedPlaces.append((places.count, base))
        bind(number)
    }

    /// The statement with such numbers counted from those that the transaction keeps in its settings.
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

    mutating func bind(_ numbers: [Int64]) { bindList(numbers, .bigint) { $1.appendNumber($0) } }

    mutating func bind(_ numbers: [Int64?]) { bindOptionals(numbers, .bigint) { $1.appendNumber($0) } }

    mutating func bind(_ texts: [String]) { bindList(texts, .text) { $1.append(contentsOf: $0.utf8) } }

    mutating func bind(_ texts: [String?]) { bindOptionals(texts, .text) { $1.append(contentsOf: $0.utf8) } }

    mutating func bind(_ blobs: [[UInt8]?]) { bindOptionals(blobs, .bytea) { $1.append(contentsOf: $0) } }

    mutating func bind(_ flags: [Bool]) { bindList(flags, .boolean) { $1.append(UInt8($0 ? 1 : 0)) } }

    /// Binds values as those of a column.
    ///
    /// - Throws: as ``bind(_:as:)``.
    mutating func bind(
        _ values: some RandomAccessCollection<Value>, as kind: ColumnKind
    ) throws(StoreError) {
        let start = bytes.count
        appendHead(count: values.count, element: kind)
        for value in values {
            let place = bytes.count
            bytes.appendNumber(Int32(-1))
            if value.isNull { continue }
            try kind.append(value, to: &bytes)
            bytes.setInt32(Int32(bytes.count - place - 4), at: place)
        }
        places.append(start..<bytes.count)
    }

    private mutating func bindList<Element>(
        _ elements: [Element], _ kind: ColumnKind, _ write: (Element, inout [UInt8]) -> Void
    ) {
        bindOptionals(elements.map { Optional($0) }, kind, write)
    }

    private mutating func bindOptionals<Element>(
        _ elements: [Element?], _ kind: ColumnKind, _ write: (Element, inout [UInt8]) -> Void
    ) {
        let start = bytes.count
        appendHead(count: elements.count, element: kind)
        for element in elements {
            let place = bytes.count
            bytes.appendNumber(Int32(-1))
            guard let element else { continue }
            write(element, &bytes)
            bytes.setInt32(Int32(bytes.count - place - 4), at: place)
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
