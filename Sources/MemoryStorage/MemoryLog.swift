/// A list that grows at its end, in blocks. A copy shares the blocks: an append after it copies only the last one.
struct MemoryLog<Element>: RandomAccessCollection, MutableCollection {
    /// The elements; every block but the last is full.
    private var blocks: [[Element]] = []
    private(set) var endIndex = 0
    private static var blockSize: Int { 32 }

    var startIndex: Int { 0 }

    subscript(position: Int) -> Element {
        get { blocks[position / Self.blockSize][position % Self.blockSize] }
        set { blocks[position / Self.blockSize][position % Self.blockSize] = newValue }
    }

    /// Looks block by block, which copies no element.
    func firstIndex(where predicate: (Element) throws -> Bool) rethrows -> Int? {
        for (number, block) in blocks.enumerated() {
            if let index = try block.firstIndex(where: predicate) { return number * Self.blockSize + index }
        }
        return nil
    }

    mutating func append(_ element: Element) {
        if endIndex % Self.blockSize == 0 { blocks.append([]) }
        blocks[blocks.count - 1].append(element)
        endIndex += 1
    }

    mutating func remove(at position: Int) { replace(from: position, with: Array(self[(position + 1)...])) }

    mutating func removeFirst(_ count: Int) { replace(from: 0, with: Array(self[count...])) }

    mutating func removeAll(where isRemoved: (Element) -> Bool) {
        guard let first = firstIndex(where: isRemoved) else { return }
        replace(from: first, with: self[first...].filter { !isRemoved($0) })
    }

    /// Puts others in the place of all elements from a position on. The full blocks before it stay.
    private mutating func replace(from position: Int, with elements: [Element]) {
        let start = position - position % Self.blockSize
        let rest = Array(self[start..<position]) + elements
        blocks.removeSubrange((start / Self.blockSize)...)
        endIndex = start
        for element in rest { append(element) }
    }
}

extension MemoryLog: Sendable where Element: Sendable {}
