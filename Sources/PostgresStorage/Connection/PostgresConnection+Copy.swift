import CPostgres

extension PostgresConnection {
    /// Copies rows into a table with COPY, within the open transaction. A pipeline forbids COPY, so it ends meanwhile.
    ///
    /// - Parameters:
    ///   - target: the table with its columns, as it stands behind COPY.
    ///   - body: gives the rows, in parts of ``CopyRows``.
    /// - Throws: ``StoreError``, and what `body` throws; the caller undoes the transaction then.
    func copy(
        into target: String, _ action: String, _ body: ((CopyRows) throws(StoreError) -> Void) throws -> Void
    ) throws {
        if !waiting.isEmpty { try run([], action) }
        guard !isLost, PQexitPipelineMode(pointer) == 1 else { throw StoreError.disconnected(action) }
        defer { PQenterPipelineMode(pointer) }
        guard let result = PQexec(pointer, "COPY \(target) FROM STDIN (FORMAT binary)") else {
            throw StoreError.disconnected(action)
        }
        defer { PQclear(result) }
        if PQresultStatus(result) != PGRES_COPY_IN { throw failure(result, action) }
        do {
            try put(CopyRows.header, action)
            try body { (rows: CopyRows) throws(StoreError) in try put(rows.bytes, action) }
            try put(CopyRows.trailer, action)
        } catch {
            PQputCopyEnd(pointer, "the copy was given up")
            _ = try? end(action)
            throw error
        }
        guard PQputCopyEnd(pointer, nil) == 1 else { throw StoreError.disconnected(action) }
        try end(action)
    }

    private func put(_ bytes: [UInt8], _ action: String) throws(StoreError) {
        let isTaken = bytes.withUnsafeBytes { buffer in
            PQputCopyData(
                pointer, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: buffer.count)) == 1
        }
        if !isTaken { throw .disconnected(action) }
    }

    /// Reads the results up to the last one.
    private func end(_ action: String) throws(StoreError) {
        var failed: StoreError?
        while let result = PQgetResult(pointer) {
            if PQresultStatus(result) != PGRES_COMMAND_OK { failed = failed ?? failure(result, action) }
            PQclear(result)
        }
        if let failed { throw failed }
    }
}

/// Rows in the binary form of COPY.
struct CopyRows {
    private(set) var bytes: [UInt8] = []
    private(set) var count = 0

    static let header = Array("PGCOPY\n".utf8) + [0xff, 0x0d, 0x0a, 0] + [UInt8](repeating: 0, count: 8)
    static let trailer: [UInt8] = [0xff, 0xff]

    /// Appends a row.
    ///
    /// - Throws: ``StoreError`` with code `store.value` where a column cannot hold its value.
    mutating func append(_ values: [Value], _ columns: [(name: String, kind: ColumnKind)]) throws(StoreError) {
        bytes.appendNumber(Int16(columns.count))
        for (value, column) in zip(values, columns) {
            if value.isNull {
                bytes.appendNumber(Int32(-1))
                continue
            }
            let start = bytes.count
            bytes.appendNumber(Int32(0))
            do throws(StoreError) { try column.kind.appendOwn(value, to: &bytes) } catch {
                throw StoreError(
                    error.code, "a value does not have the form of the column \(column.name)", remedy: error.remedy)
            }
            bytes.setInt32(Int32(clamping: bytes.count - start - 4), at: start)
        }
        count += 1
    }
}

extension ColumnKind {
    /// Appends the binary form of a value in the column's own type. Parameters have wider types for numbers.
    fileprivate func appendOwn(_ value: Value, to bytes: inout [UInt8]) throws(StoreError) {
        switch (self, value) {
        case (.smallint, .integer(let number)): bytes.appendNumber(try Self.narrowed(number, Int16.self))
        case (.integer, .integer(let number)): bytes.appendNumber(try Self.narrowed(number, Int32.self))
        case (.numeric, .text(let text)): try Self.appendNumeric(text, to: &bytes)
        default: try append(value, to: &bytes)
        }
    }

    private static func narrowed<Number: FixedWidthInteger>(
        _ number: Int64, _ type: Number.Type
    ) throws(StoreError) -> Number {
        if let narrow = Number(exactly: number) { return narrow }
        throw StoreError(.value, "A number does not fit into its column", remedy: "Correct the event")
    }

    /// Appends a decimal as groups of four digits: how many, the weight of the first, the sign, the digits behind the point.
    private static func appendNumeric(_ text: String, to bytes: inout [UInt8]) throws(StoreError) {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let parts = text.utf8.dropFirst(isNegative ? 1 : 0).split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        var whole = parts.first.map { Array($0) } ?? []
        var fraction = parts.count > 1 ? Array(parts[1]) : []
        let scale = fraction.count
        guard !whole.isEmpty, (whole + fraction).allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw StoreError(.value, "A decimal is malformed", remedy: "Correct the event")
        }
        whole = [UInt8](repeating: 0x30, count: (4 - whole.count % 4) % 4) + whole
        fraction += [UInt8](repeating: 0x30, count: (4 - fraction.count % 4) % 4)
        let digits = whole + fraction
        var groups = stride(from: 0, to: digits.count, by: 4).map { start in
            digits[start..<start + 4].reduce(Int16(0)) { $0 * 10 + Int16($1 - 0x30) }
        }
        var weight = whole.count / 4 - 1
        let leading = groups.prefix { $0 == 0 }.count
        groups.removeFirst(leading)
        weight -= leading
        while groups.last == 0 { groups.removeLast() }
        if groups.isEmpty { weight = 0 }
        bytes.appendNumber(Int16(groups.count))
        bytes.appendNumber(Int16(clamping: weight))
        bytes.appendNumber(isNegative && !groups.isEmpty ? Int16(0x4000) : 0)
        bytes.appendNumber(Int16(clamping: scale))
        for group in groups { bytes.appendNumber(group) }
    }
}
