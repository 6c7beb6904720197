/// Cuts a JSON array into its elements without parsing them: it only follows strings, escapes and nesting.
///
/// It delivers a damaged element for the parser to refuse, and finds the next element where that is possible. It passes
/// over a closing bracket without an opening one. A bracket that closes an outer container closes the inner ones too. A
/// line break inside a string ends the element, because JSON has none there. A comma before the closing bracket of the
/// array is allowed.
struct JSONArrayScanner: RecordScanner {
    private enum State {
        case beforeArray
        case beforeFirst
        case afterComma
        /// After an element that was cut at a line break; its comma may have been cut with it.
        case afterCut
        case afterElement
        case inElement
        case afterArray
        case inTrailing
        case done
    }

    private var state = State.beforeArray
    private var element = ElementScanner()
    private var line = 1
    /// Where the record being scanned starts, and the fault of its place.
    private var recordLine = 1
    private var fault: RecordFault?
    /// Whether an element was cut: then a closing bracket may not be the array's.
    private var hasCut = false

    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    mutating func scan(_ window: ByteWindow) throws(ScanError) -> ScannedRecord? {
        while window.cursor < window.end {
            switch state {
            case .inElement:
                let outcome = element.scan(window, line: &line)
                if outcome == .needsMore { return nil }
                return endElement(window, wasCut: outcome == .cut)
            case .inTrailing:
                window.cursor = window.end
            case .done: return nil
            default:
                if let record = try step(window) { return record }
            }
        }
        return nil
    }

    mutating func finish(_ window: ByteWindow) throws(ScanError) -> ScannedRecord? {
        switch state {
        case .inElement:
            state = .done
            return window.record(endingAt: window.end, line: recordLine, fault: fault)
        case .inTrailing:
            state = .done
            return window.record(endingAt: window.end, line: recordLine, fault: .trailingContent)
        case .beforeFirst, .afterComma, .afterElement, .afterCut:
            state = .done
            throw ScanError(kind: .unclosedArray, line: line)
        case .beforeArray, .afterArray, .done:
            return nil
        }
    }

    private mutating func endElement(_ window: ByteWindow, wasCut: Bool) -> ScannedRecord {
        var index = window.cursor
        if wasCut && window.byte(before: index) == 0x0D { index -= 1 }
        hasCut = hasCut || wasCut
        state = wasCut ? .afterCut : .afterElement
        return window.record(endingAt: index, line: recordLine, fault: fault)
    }

    /// Handles one byte between elements; returns a record for an element that is missing.
    private mutating func step(_ window: ByteWindow) throws(ScanError) -> ScannedRecord? {
        let byte = window.base[window.cursor]
        if Self.isWhiteSpace(byte) {
            if byte == 0x0A { line += 1 }
            advance(window)
            return nil
        }
        switch state {
        case .beforeArray:
            guard byte == 0x5B else { throw ScanError(kind: .notAnArray, line: line) }
            state = .beforeFirst
            advance(window)
        case .afterArray:
            // After a cut element the bracket may have been an inner one: go on with elements.
            if hasCut { state = .afterElement } else { begin(window, .inTrailing, .trailingContent) }
        default:
            return stepInArray(byte, window)
        }
        return nil
    }

    private mutating func stepInArray(_ byte: UInt8, _ window: ByteWindow) -> ScannedRecord? {
        switch (byte, state) {
        case (0x5D, _):
            state = .afterArray
            advance(window)
        case (0x2C, .afterElement), (0x2C, .afterCut):
            state = .afterComma
            advance(window)
        case (0x2C, _):
            let record = window.record(endingAt: window.cursor, line: line, fault: .missingElement)
            state = .afterComma
            window.cursor += 1
            return record
        case (_, .afterElement):
            begin(window, .inElement, .missingComma)
            element.restart(first: byte)
        default:
            begin(window, .inElement, nil)
            element.restart(first: byte)
        }
        return nil
    }

    private mutating func begin(_ window: ByteWindow, _ next: State, _ fault: RecordFault?) {
        window.release(upTo: window.cursor)
        window.cursor += 1
        recordLine = line
        self.fault = fault
        state = next
    }

    private func advance(_ window: ByteWindow) {
        window.cursor += 1
        window.release(upTo: window.cursor)
    }
}
