import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// The table of identities against the standard library's.
@Suite struct IdentityTableTests {
    @Test func `it holds what a dictionary holds`() throws {
        let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0...999_999)
        print("SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let entity = try #require(try configuredModel("chat").entity(named: "Chat"))
        let table = IdentityTable()
        var reference: [Value: ContextObject] = [:]
        var named: Set<Value> = []
        // An identity that lost its object is not named again.
        var handedOut: Set<Value> = []
        for step in 0..<5000 {
            let number = Int.random(in: 0..<400, using: &random)
            let identity: Value = number % 3 == 0 ? .integer(Int64(number)) : .text("identity \(number)")
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let object = ContextObject(entity: entity, pk: Int64(step), values: entity.initialValues(identity))
                (table[identity], reference[identity]) = (object, object)
            case 4: (table[identity], reference[identity]) = (nil, nil)
            case 5..<8:
                table.name(identity)
                named.insert(identity)
            case 8: table.reserveCapacity(number)
            default:
                let absent = table.takeNamed()
                #expect(Set(absent).count == absent.count)
                #expect(absent.allSatisfy { reference[$0] == nil })
                #expect(named.filter { reference[$0] == nil }.isSubset(of: handedOut.union(absent)))
                handedOut.formUnion(absent)
                named.removeAll()
            }
            #expect(table[identity] === reference[identity])
            if number == 0 {
                table.removeAll()
                reference.removeAll()
                named.removeAll()
                handedOut.removeAll()
                #expect(table.takeNamed().isEmpty)
            }
        }
        for (identity, object) in reference { #expect(table[identity] === object) }
    }

    @Test func `identities that were named are handed out once and in order`() {
        let table = IdentityTable()
        for identity in ["b", "a", "b", "c"] as [Value] { table.name(identity) }
        #expect(table.takeNamed() == ["b", "a", "c"])
        for identity in ["c", "d"] as [Value] { table.name(identity) }
        #expect(table.takeNamed() == ["d"])
    }
}
