import TestSupport
import Testing

@Suite struct ShrinkingTests {
    @Test func `a list that fails keeps the steps that the failure needs, in their simplest form`() throws {
        var tries = 0
        let found = Shrinking.smallest(Array(0..<200), simpler: { $0 > 100 ? [100, $0 - 1] : [] }) { steps in
            tries += 1
            return steps.contains(17) && steps.contains { $0 > 120 } ? "fails with \(steps.count)" : nil
        }
        let smallest = try #require(found)
        #expect(smallest.steps == [17, 121])
        #expect(smallest.problem == "fails with 2")
        #expect(tries < 500)
    }

    @Test func `a list that ends well has no smaller one`() {
        #expect(Shrinking.smallest([1, 2, 3]) { $0.contains(4) ? "fails" : nil } == nil)
    }
}
