/// Memory in which the doubled quotes of a row's fields are undone. It grows to the largest such row.
final class UndoneQuotes {
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity: Int

    init() {
        capacity = 256
        memory = .allocate(capacity: capacity)
    }

    deinit {
        memory.deallocate()
    }

    /// Returns the row's fields, with each doubled quote as one.
    func undo(_ spans: [CSVFields.Span], row: UnsafePointer<UInt8>, rowBytes: Int, quote: UInt8) -> CSVFields {
        if capacity < rowBytes {
            memory.deallocate()
            capacity = max(rowBytes, capacity * 2)
            memory = .allocate(capacity: capacity)
        }
        var spans = spans
        var used = 0
        for index in spans.indices where spans[index].hasDoubledQuotes {
            let first = used
            copy(row + Int(spans[index].offset), Int(spans[index].count), quote, &used)
            spans[index].offset = UInt32(truncatingIfNeeded: first)
            spans[index].count = UInt32(truncatingIfNeeded: used - first)
            spans[index].isUndone = true
        }
        return CSVFields(spans: spans, row: row, undone: memory)
    }

    private func copy(_ text: UnsafePointer<UInt8>, _ count: Int, _ quote: UInt8, _ used: inout Int) {
        var position = 0
        while position < count {
            let byte = text[position]
            memory[used] = byte
            used += 1
            position += byte == quote && position + 1 < count && text[position + 1] == quote ? 2 : 1
        }
    }
}
