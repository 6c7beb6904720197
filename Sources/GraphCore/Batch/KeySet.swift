/// A set of primary keys in little memory: two bytes per key, or 8 KB for 65,536 neighbouring keys.
package struct KeySet {
    private enum Container {
        case list([UInt16])
        case bits([UInt64])
    }

    private var containers: [Int64: Container] = [:]
    package private(set) var count = 0

    package init() {}

    /// A list of this length takes as much memory as a bit set.
    private static let longestList = 4096

    /// Adds a key, unless the set has it.
    package mutating func insert(_ key: Int64) {
        let high = key >> 16
        let low = UInt16(truncatingIfNeeded: key)
        // The container is removed while it changes, so that it is not copied.
        switch containers.removeValue(forKey: high) {
        case nil:
            containers[high] = .list([low])
            count += 1
        case .bits(var bits):
            insert(low, into: &bits)
            containers[high] = .bits(bits)
        case .list(var list):
            if let last = list.last, last >= low {
                let position = list.partitioningIndex { $0 >= low }
                if list[position] != low {
                    list.insert(low, at: position)
                    count += 1
                }
            } else {
                list.append(low)
                count += 1
            }
            containers[high] = list.count > Self.longestList ? .bits(Self.bits(list)) : .list(list)
        }
    }

    private mutating func insert(_ low: UInt16, into bits: inout [UInt64]) {
        let (word, bit) = (Int(low >> 6), UInt64(1) << UInt64(low & 63))
        if bits[word] & bit == 0 { count += 1 }
        bits[word] |= bit
    }

    private static func bits(_ list: [UInt16]) -> [UInt64] {
        var bits = [UInt64](repeating: 0, count: 1024)
        for low in list { bits[Int(low >> 6)] |= 1 << UInt64(low & 63) }
        return bits
    }

    /// Calls `body` with the keys in ascending order, at most `size` at a time.
    package func forEachChunk<Failure: Error>(
        of size: Int, _ body: ([Int64]) throws(Failure) -> Void
    ) throws(Failure) {
        var chunk: [Int64] = []
        chunk.reserveCapacity(min(size, count))
        for high in containers.keys.sorted() {
            for low in lows(of: containers[high]) {
                chunk.append(high << 16 | Int64(low))
                if chunk.count == size {
                    try body(chunk)
                    chunk.removeAll(keepingCapacity: true)
                }
            }
        }
        if !chunk.isEmpty { try body(chunk) }
    }

    private func lows(of container: Container?) -> [UInt16] {
        switch container {
        case nil: return []
        case .list(let list): return list
        case .bits(let bits):
            var lows: [UInt16] = []
            for (word, content) in bits.enumerated() {
                var rest = content
                while rest != 0 {
                    lows.append(UInt16(word << 6 + rest.trailingZeroBitCount))
                    rest &= rest - 1
                }
            }
            return lows
        }
    }
}

extension Array {
    /// The first position whose element belongs to the second part, the array being parted already.
    fileprivate func partitioningIndex(_ belongsToSecond: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if belongsToSecond(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
