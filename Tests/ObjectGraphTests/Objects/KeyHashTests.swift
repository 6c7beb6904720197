import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct KeyHashTests {
    /// What keys look like: neighbours, multiples, temporary ones, links of a few with many, several tables side by side.
    static let shapes: [[KeyHash]] = [
        (1...4096).map { KeyHash($0) },
        (1...4096).map { KeyHash($0 * 1024) },
        (1...4096).map { KeyHash($0 << 32) },
        (1...4096).map { KeyHash(-$0) },
        (1...64).flatMap { owner in (1...64).map { KeyHash(owner, $0) } },
        (1...16).flatMap { entity in (1...16).flatMap { slot in (1...16).map { KeyHash($0, entity, slot) } } },
    ]

    /// Hashes thrown at as many places as there are keys leave about two thirds of them taken, and none is crowded.
    @Test(arguments: shapes, [0, 1, -1, 94_331_520_448_512]) func `keys spread over a table`(keys: [KeyHash], seed: Int)
    {
        var counts: [Int: Int] = [:]
        for key in keys { counts[key.mixed(seed) & 4095, default: 0] += 1 }
        #expect(counts.count > 2300)
        #expect((counts.values.max() ?? 0) < 12)
    }

    /// Else a table that is filled in the order of another one gets its keys side by side.
    @Test(arguments: shapes) func `tables with other seeds have other orders`(keys: [KeyHash]) {
        func order(_ seed: Int) -> [Int] { keys.indices.sorted { keys[$0].mixed(seed) < keys[$1].mixed(seed) } }
        let (one, other) = (order(12), order(13))
        #expect(zip(one, other).filter { $0 == $1 }.count < 20)
    }

    /// Tables ask by the protocol of the standard library, which has a way of its own for types that say nothing.
    @Test func `tables ask for this hash`() {
        func hash(_ key: some Hashable) -> Int { key._rawHashValue(seed: 5) }
        #expect(hash(ObjectKey(entity: 3, pk: 7)) == KeyHash(7, 3).mixed(5))
        #expect(hash(Pair(owner: 1, destination: 2)) == KeyHash(1, 2).mixed(5))
        #expect(hash(AggregateKey(entity: 3, pk: 7, slot: 2)) == KeyHash(7, 3, 2).mixed(5))
        #expect(ObjectKey(entity: 3, pk: 7).hashValue == ObjectKey(entity: 3, pk: 7).hashValue)
    }
}
