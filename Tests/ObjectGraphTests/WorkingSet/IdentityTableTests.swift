import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// The table of identities against the standard library's.
@Suite struct IdentityTableTests {
    @Test func `it holds what a dictionary holds`() throws {
        var random = SeededRandom.forTest("IdentityTableTests")
        let entity = try #require(try configuredModel("chat").entity(named: "Chat"))
        let (table, arena) = (IdentityTable(), ValueArena())
        var reference: [Value: ContextObject] = [:]
        var named: Set<Value> = []
        var places: [Value: Int] = [:]
        var tombstones: [Value: Int64] = [:]
        for step in 0..<5000 {
            let number = Int.random(in: 0..<400, using: &random)
            let identity: Value = number % 3 == 0 ? .integer(Int64(number)) : .text("identity \(number)")
            switch Int.random(in: 0..<14, using: &random) {
            case 0..<4:
                let object = ContextObject(entity: entity, pk: Int64(step), values: entity.initialValues(identity))
                (table[identity], reference[identity]) = (object, object)
            case 4: (table[identity], reference[identity]) = (nil, nil)
            case 5..<8:
                if Bool.random(using: &random) { table.name(identity) } else { table.name(arena.pack(identity)) }
                if reference[identity] == nil { named.insert(identity) }
            case 8: table.reserveCapacity(number)
            case 10:
                let place = table.place(of: arena.pack(identity))
                #expect(places[identity] ?? place == place)
                places[identity] = place
            case 11, 12:
                let entry = ObjectRegistry.TombstoneEntry(
                    stored: nil, current: Tombstone(version: .null, time: Int64(step)))
                table.setTombstone(entry, of: identity)
                tombstones[identity] = Int64(step)
            case 13:
                table.setTombstone(nil, of: identity)
                tombstones[identity] = nil
            default:
                let absent = table.takeNamed().map(\.value)
                #expect(Set(absent).count == absent.count)
                #expect(Set(absent) == named.filter { reference[$0] == nil })
                named.removeAll()
            }
            #expect(table[identity] === reference[identity])
            #expect(table[arena.pack(identity)] === reference[identity])
            #expect(table.tombstone(of: identity)?.current?.time == tombstones[identity])
            if let place = places[identity] {
                #expect(table.object(at: place) === reference[identity])
                #expect(table.tombstone(at: place)?.current?.time == tombstones[identity])
            }
            if number == 1 {
                table.forgetObjects()
                reference.removeAll()
                named.removeAll()
            }
            if number == 0 {
                table.removeAll()
                reference.removeAll()
                named.removeAll()
                places.removeAll()
                tombstones.removeAll()
                #expect(table.takeNamed().isEmpty)
            }
        }
        for (identity, object) in reference { #expect(table[identity] === object) }
        var found: [Value: Int64] = [:]
        table.forEachTombstone { found[$0] = $1.current?.time }
        #expect(found == tombstones)
    }

    @Test func `named identities are handed out in order, and again where they are named again`() {
        let table = IdentityTable()
        for identity in ["b", "a", "b", "c"] as [Value] { table.name(identity) }
        #expect(table.takeNamed().map(\.value) == ["b", "a", "c"])
        for identity in ["d", "c"] as [Value] { table.name(identity) }
        #expect(table.takeNamed().map(\.value) == ["d", "c"])
        #expect(table.takeNamed().isEmpty)
    }
}
