import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct KeySetTests {
    private func keys(_ set: KeySet, _ size: Int) -> [[Int64]] {
        var chunks: [[Int64]] = []
        set.forEachChunk(of: size) { chunks.append($0) }
        return chunks
    }

    @Test(arguments: 0..<20) func `holds each key once in ascending order`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var set = KeySet()
        var expected: Set<Int64> = []
        let spans: [Int64] = [100, 10_000, 1_000_000, 1 << 40]
        let span = spans.randomElement(using: &generator) ?? 1
        for _ in 0..<6000 {
            let key = Int64.random(in: -span...span, using: &generator)
            set.insert(key)
            expected.insert(key)
        }
        #expect(set.count == expected.count)
        #expect(keys(set, 777).flatMap { $0 } == expected.sorted())
        #expect(keys(set, 777).dropLast().allSatisfy { $0.count == 777 })
    }

    @Test func `an empty set has no chunks`() { #expect(keys(KeySet(), 5).isEmpty) }
}
