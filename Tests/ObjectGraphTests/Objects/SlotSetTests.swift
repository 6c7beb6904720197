import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct SlotSetTests {
    /// Entities with more than 64 columns keep the slots behind them too.
    @Test func `holds the slots that were inserted`() {
        let slots = [0, 1, 62, 63, 64, 65, 127, 128, 999]
        var set = SlotSet()
        for slot in slots { #expect(!set.contains(slot)) }
        for slot in slots { set.insert(slot) }
        for slot in 0..<1000 { #expect(set.contains(slot) == slots.contains(slot)) }
    }
}
