import Testing

@testable import GraphCore
@testable import ObjectGraph

@Suite struct ResultsDifferenceTests {
    @Test(arguments: 0..<300) func `applied to the old list it gives the new one`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let size = Int.random(in: 0...40, using: &generator)
        let old = Array(0..<size).shuffled(using: &generator)
        var new = old.filter { _ in Int.random(in: 0..<4, using: &generator) > 0 }
        if Bool.random(using: &generator) { new.shuffle(using: &generator) }
        for id in 0..<Int.random(in: 0...10, using: &generator) {
            new.insert(100 + id, at: Int.random(in: 0...new.count, using: &generator))
        }
        let changed = Set(new.filter { _ in Bool.random(using: &generator) })
        let difference = ResultsDifference(from: old, to: new, changed: changed)
        // An element is an id with its content: changed ones have another content in the new list.
        let oldElements = old.map { [$0, 0] }
        let newElements = new.map { [$0, changed.contains($0) && old.contains($0) ? 1 : old.contains($0) ? 0 : 2] }
        #expect(difference.applied(to: oldElements) { newElements[$0] } == newElements)
        #expect(difference.updates.allSatisfy { old[$0.from] == new[$0.to] && changed.contains(new[$0.to]) })
        #expect(difference.moves.allSatisfy { old[$0.from] == new[$0.to] })
        #expect(ResultsDifference(from: new, to: new).isEmpty)
    }

    @Test func `one object that changes its place is one move`() {
        let difference = ResultsDifference(from: [1, 2, 3, 4, 5], to: [5, 1, 2, 3, 4])
        #expect(difference.moves == [.init(from: 4, to: 0)])
        #expect(difference.deletions.isEmpty && difference.insertions.isEmpty)
    }

    @Test(arguments: [("renamed", 0), ("last", 3)])
    func `of two neighbours that change places the changed one moves`(_ changed: String, _ from: Int) {
        let difference = ResultsDifference(
            from: ["renamed", "b", "c", "last"],
            to: changed == "renamed" ? ["b", "c", "last", "renamed"] : ["last", "renamed", "b", "c"],
            changed: [changed])
        #expect(difference.moves.map(\.from) == [from])
        let exchanged = ResultsDifference(from: [1, 2], to: [2, 1], changed: [changed == "last" ? 2 : 1])
        #expect(exchanged.moves == [changed == "last" ? .init(from: 1, to: 0) : .init(from: 0, to: 1)])
    }

    @Test func `deletions do not make others move`() {
        let difference = ResultsDifference(from: [1, 2, 3], to: [2, 3, 9])
        #expect(difference.deletions == [0])
        #expect(difference.insertions == [2])
        #expect(difference.moves.isEmpty)
    }
}
