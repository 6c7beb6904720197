import GRDBSQLite

/// A prepared statement over SQLite's C interface, for the hot paths of writers and readers.
///
/// Used by one thread at a time. It has to be released before the connection closes.
final class PreparedStatement: StoreRow {
    private let statement: OpaquePointer
    private let connection: OpaquePointer
    /// Why a value could not be bound since the last run: it would be NULL.
    private var bindingCode = SQLITE_OK

    init(_ connection: OpaquePointer, sql: String) throws(StoreError) {
        var created: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &created, nil)
        guard code == SQLITE_OK, let created else {
            throw StoreError(
                resultCode: code, action: "prepare a statement", detail: String(cString: sqlite3_errmsg(connection)))
        }
        statement = created
        self.connection = connection
    }

    deinit {
        sqlite3_finalize(statement)
    }

    /// Undoes the transaction that is open on a connection. Some failures have undone it already.
    ///
    /// - Throws: ``StoreError``, such as for want of memory; the transaction is open then.
    static func undoTransaction(on connection: OpaquePointer) throws(StoreError) {
        if sqlite3_get_autocommit(connection) == 0 { try PreparedStatement(connection, sql: "ROLLBACK").run() }
    }

    // MARK: Binding; positions count from 1. A failure is thrown by the next step

    func bind(_ position: Int, _ value: Value) {
        switch value {
        case .null: sqlite3_bind_null(statement, Int32(position))
        case .integer(let number): sqlite3_bind_int64(statement, Int32(position), number)
        case .double(let number): sqlite3_bind_double(statement, Int32(position), number)
        case .text(let text): bind(position, text)
        case .blob(let bytes): bind(position, bytes)
        }
    }

    /// The number of the statement's last parameter.
    var parameterCount: Int { Int(sqlite3_bind_parameter_count(statement)) }

    /// Binds a value whose bytes stay where they are until the statement has run.
    func bindKept(_ position: Int, _ value: PackedValue) {
        switch value.content {
        case .null: sqlite3_bind_null(statement, Int32(position))
        case .integer(let number): sqlite3_bind_int64(statement, Int32(position), number)
        case .double(let number): sqlite3_bind_double(statement, Int32(position), number)
        case .text(let bytes): bind(position, bytes.bindMemory(to: UInt8.self), nil)
        case .blob(let bytes): bindBlob(position, bytes, nil)
        }
    }

    func bind(_ position: Int, _ number: Int64) {
        sqlite3_bind_int64(statement, Int32(position), number)
    }

    func bind(_ position: Int, _ number: Int) {
        sqlite3_bind_int64(statement, Int32(position), Int64(number))
    }

    func bind(_ position: Int, _ number: Int64?) {
        if let number { bind(position, number) } else { bindNull(position) }
    }

    func bindNull(_ position: Int) {
        sqlite3_bind_null(statement, Int32(position))
    }

    func bind(_ position: Int, _ text: String) {
        let bound: Void? = text.utf8.withContiguousStorageIfAvailable { bind(position, $0, transient) }
        if bound != nil { return }
        var text = text
        text.withUTF8 { bind(position, $0, transient) }
    }

    private func bind(
        _ position: Int, _ bytes: UnsafeBufferPointer<UInt8>, _ destructor: sqlite3_destructor_type?
    ) {
        bytes.withMemoryRebound(to: CChar.self) { characters in
            // An empty text has no base address, and a null pointer would bind NULL.
            if let address = characters.baseAddress {
                note(sqlite3_bind_text(statement, Int32(position), address, Int32(bytes.count), destructor))
            } else {
                note(sqlite3_bind_text(statement, Int32(position), "", 0, transient))
            }
        }
    }

    func bind(_ position: Int, _ text: String?) {
        if let text { bind(position, text) } else { bindNull(position) }
    }

    func bind(_ position: Int, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bindBlob(position, $0, transient) }
    }

    private func bindBlob(
        _ position: Int, _ bytes: UnsafeRawBufferPointer, _ destructor: sqlite3_destructor_type?
    ) {
        if let address = bytes.baseAddress, !bytes.isEmpty {
            note(sqlite3_bind_blob64(statement, Int32(position), address, UInt64(bytes.count), destructor))
        } else {
            note(sqlite3_bind_zeroblob(statement, Int32(position), 0))
        }
    }

    private func note(_ code: Int32) {
        if code != SQLITE_OK { bindingCode = code }
    }

    /// Binds the values of the first parameters.
    func bindAll<each Bound: SQLiteValue>(_ values: repeat each Bound) {
        var position = 1
        for value in repeat each values {
            value.bind(to: self, at: position)
            position += 1
        }
    }

    // MARK: Running

    /// Steps to the next row; false when there is none, after which the statement is ready for its next use.
    func step() throws(StoreError) -> Bool {
        if bindingCode != SQLITE_OK {
            defer { bindingCode = SQLITE_OK }
            throw StoreError(steppingCode: bindingCode, detail: "")
        }
        let code = sqlite3_step(statement)
        if code == SQLITE_ROW { return true }
        let reset = sqlite3_reset(statement)
        if code == SQLITE_DONE { return false }
        let failure = sqlite3_extended_errcode(connection)
        throw StoreError(
            steppingCode: failure == SQLITE_OK ? (reset == SQLITE_OK ? code : reset) : failure,
            detail: StoreError.detail(code, String(cString: sqlite3_errmsg(connection))),
            path: sqlite3_db_filename(connection, "main").map { String(cString: $0) })
    }

    /// Runs a statement that returns no rows, and makes it ready for its next use.
    func run() throws(StoreError) {
        while try step() {}
    }

    /// The same with the values of its first parameters.
    func run<each Bound: SQLiteValue>(_ values: repeat each Bound) throws(StoreError) {
        bindAll(repeat each values)
        while try step() {}
    }

    /// Releases the bound values.
    func clearBindings() {
        sqlite3_clear_bindings(statement)
    }

    /// Makes the statement ready for its next use before its rows are exhausted.
    func reset() {
        sqlite3_reset(statement)
    }

    // MARK: Reading the current row; columns count from 0

    var columnCount: Int { Int(sqlite3_column_count(statement)) }

    func integer(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }

    func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }

    func value(_ column: Int) -> Value {
        let column = Int32(column)
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: return .double(sqlite3_column_double(statement, column))
        case SQLITE_TEXT: return .text(text(Int(column)))
        case SQLITE_BLOB: return .blob([UInt8](content(column)))
        default: return .null
        }
    }

    /// Copies a value into an arena.
    func packed(_ column: Int, in arena: ValueArena) -> PackedValue {
        let position = Int32(column)
        switch sqlite3_column_type(statement, position) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, position))
        case SQLITE_TEXT:
            let bytes = content(position)
            var span = UTF8Span(unchecked: bytes.bindMemory(to: UInt8.self).span)
            // Another text may have to be repaired.
            return span.checkForASCII() ? arena.pack(text: bytes) : arena.pack(.text(text(column)))
        case SQLITE_NULL: return .null
        default: return arena.pack(value(column))
        }
    }

    func text(_ column: Int) -> String {
        let bytes = content(Int32(column))
        var span = UTF8Span(unchecked: bytes.bindMemory(to: UInt8.self).span)
        // The standard library would look for faults byte by byte; texts of ASCII have none.
        return span.checkForASCII() ? String(copying: span) : String(decoding: bytes, as: UTF8.self)
    }

    func blob(_ column: Int) -> [UInt8]? {
        if case .blob(let bytes) = value(column) { return bytes }
        return nil
    }

    /// Tells whether a column holds a text whose bytes are no UTF-8; ``value(_:)`` repairs such a text.
    func isMalformedText(_ column: Int) -> Bool {
        let column = Int32(column)
        return sqlite3_column_type(statement, column) == SQLITE_TEXT
            && String(validating: content(column), as: UTF8.self) == nil
    }

    /// The bytes of a text or blob, until the next step. sqlite3_column_text would need memory for the NUL behind a text.
    private func content(_ column: Int32) -> UnsafeRawBufferPointer {
        guard let start = sqlite3_column_blob(statement, column) else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }

    /// SQLite copies bound bytes at once: SQLITE_TRANSIENT, a cast that Swift cannot import.
    private var transient: sqlite3_destructor_type {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }
}

/// The value of a parameter.
protocol SQLiteValue {
    func bind(to statement: PreparedStatement, at position: Int)
}

extension Int: SQLiteValue {
    func bind(to statement: PreparedStatement, at position: Int) { statement.bind(position, self) }
}

extension Int64: SQLiteValue {
    func bind(to statement: PreparedStatement, at position: Int) { statement.bind(position, self) }
}

extension String: SQLiteValue {
    func bind(to statement: PreparedStatement, at position: Int) { statement.bind(position, self) }
}

extension [UInt8]: SQLiteValue {
    func bind(to statement: PreparedStatement, at position: Int) { statement.bind(position, self) }
}

extension Value: SQLiteValue {
    func bind(to statement: PreparedStatement, at position: Int) { statement.bind(position, self) }
}

extension Optional: SQLiteValue where Wrapped: SQLiteValue {
    func bind(to statement: PreparedStatement, at position: Int) {
        if let self { self.bind(to: statement, at: position) } else { statement.bindNull(position) }
    }
}
