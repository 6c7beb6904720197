import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// The table of primary keys against the standard library's.
@Suite struct KeyTableTests {
    @Test func `it holds what a dictionary holds`() throws {
        var random = SeededRandom.forTest("KeyTableTests")
        let entity = try #require(try configuredModel("chat").entity(named: "Chat"))
        let table = KeyTable()
        var reference: [Int64: ContextObject] = [:]
        for step in 0..<20_000 {
            // New objects of editing contexts have negative keys.
            let key = Int64.random(in: -50..<2000, using: &random) << (step % 2 == 0 ? 0 : 32)
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<5:
                let object = ContextObject(entity: entity, pk: key, values: entity.initialValues("a"))
                (table[key], reference[key]) = (object, object)
            case 5: (table[key], reference[key]) = (nil, nil)
            case 6: table.reserveCapacity(step % 100)
            default: break
            }
            #expect(table[key] === reference[key])
            if step % 7000 == 6999 {
                #expect(Set(table.values.map(\.pk)) == Set(reference.keys))
                table.removeAll()
                reference.removeAll()
                #expect(table.values.isEmpty)
            }
        }
        for (key, object) in reference { #expect(table[key] === object) }
    }
}
