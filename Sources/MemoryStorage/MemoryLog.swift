/// A list that grows at its end, in blocks. A copy shares the blocks: an append after it copies only the last one.
struct MemoryLog<Element>: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    /// The elements; every block but the last is full.
    private var blocks: [[Element]] = []
    private(set) var endIndex = 0
    private static var blockSize: Int { 32 }

    init() {}

    var startIndex: Int { 0 }

    subscript(position: Int) -> Element {
        get { blocks[position / Self.blockSize][position % Self.blockSize] }
        set { blocks[position / Self.blockSize][position % Self.blockSize] = newValue }
    }

    mutating func append(_ element: Element) {
        if endIndex % Self.blockSize == 0 { blocks.append([]) }
        blocks[blocks.count - 1].append(element)
        endIndex += 1
    }

    mutating func replaceSubrange(_ range: Range<Int>, with elements: some Collection<Element>) {
        let keptCount = range.lowerBound / Self.blockSize
        let start = keptCount * Self.blockSize
        let rest = Array(self[start..<range.lowerBound]) + Array(elements) + Array(self[range.upperBound...])
        blocks.removeSubrange(keptCount...)
        endIndex = start
        for element in rest { append(element) }
    }
}

extension MemoryLog: Sendable where Element: Sendable {}
