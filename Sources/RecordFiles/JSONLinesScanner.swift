/// Cuts JSON lines: `\n` or `\r\n` ends a record, blank lines are none, the last line needs no end.
struct JSONLinesScanner: RecordScanner {
    private var line = 1

    mutating func scan(_ window: ByteWindow) throws(ScanError) -> ScannedRecord? {
        while let newline = window.index(of: 0x0A) {
            let record = cut(window, at: newline)
            window.cursor = newline + 1
            line += 1
            if let record { return record }
            window.release(upTo: window.cursor)
        }
        window.cursor = window.end
        return nil
    }

    mutating func finish(_ window: ByteWindow) throws(ScanError) -> ScannedRecord? {
        let record = cut(window, at: window.end)
        if record == nil { window.release(upTo: window.end) }
        return record
    }

    /// Returns the line before an index, or nil where it is blank.
    private func cut(_ window: ByteWindow, at index: Int) -> ScannedRecord? {
        guard index > window.start else { return nil }
        let hasReturn = window.byte(before: index) == 0x0D
        let record = window.record(endingAt: hasReturn ? index - 1 : index, line: line)
        if record.availableBytes == record.totalBytes && Self.isBlank(window, record) { return nil }
        return record
    }

    private static func isBlank(_ window: ByteWindow, _ record: ScannedRecord) -> Bool {
        for index in record.start..<(record.start + record.availableBytes)
        where !JSONArrayScanner.isWhiteSpace(window.base[index]) {
            return false
        }
        return true
    }
}
