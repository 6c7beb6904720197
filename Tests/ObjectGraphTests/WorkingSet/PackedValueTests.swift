import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// Packed values against those that own their bytes. Debug builds have arenas of a few hundred bytes a block, and
/// overwrite what is forgotten.
@Suite struct PackedValueTests {
    private static let texts = [
        "", "a", "é", "e\u{301}", "0123456789abcdef", "a text of more than fifteen bytes", "😀\u{0}x",
    ]

    private func value(_ random: inout SeededRandom) -> Value {
        switch random.number(below: 6) {
        case 0: .null
        case 1: .integer([.min, -1, 0, 1, .max][random.number(below: 5)])
        case 2: .double([-0.0, 0, 1, 1.5, .infinity, -.infinity][random.number(below: 6)])
        case 3: .text(String(repeating: "long ", count: random.number(below: 200)))
        case 4: .text(Self.texts[random.number(below: Self.texts.count)])
        default: .blob((0..<random.number(below: 40)).map { UInt8($0) })
        }
    }

    @Test func `packed values compare, sort and hash as the values themselves`() {
        var random = SeededRandom.forTest("packed values compare, sort and hash as the values themselves")
        let (arena, other) = (ValueArena(), ValueArena())
        let values = (0..<300).map { _ in value(&random) }
        let packed = values.map { arena.pack($0) }
        for (value, packed) in zip(values, packed) {
            #expect(packed.value == value && packed == value && packed.hash(seed: 3) == value._rawHashValue(seed: 3))
            #expect(packed.isNull == value.isNull && packed.integer == value.integer)
            #expect(other.copy(packed) == packed)
        }
        for _ in 0..<5000 {
            let (left, right) = (random.number(below: 300), random.number(below: 300))
            #expect((packed[left] == packed[right]) == (values[left] == values[right]))
            #expect((packed[left] == values[right]) == (values[left] == values[right]))
            #expect(packed[left].isOlder(than: packed[right]) == values[left].isOlder(than: values[right]))
            let isBefore = packed[left].isBefore(packed[right])
            switch (values[left], values[right]) {
            case (.integer(let first), .integer(let second)): #expect(isBefore == (first < second))
            case (.text(let first), .text(let second)): #expect(isBefore == (Value.order(first, second) < 0))
            case (.blob(let first), .blob(let second)): #expect(isBefore == first.lexicographicallyPrecedes(second))
            default: #expect(isBefore == nil)
            }
        }
    }

    @Test func `an arena that is reset serves again`() {
        var random = SeededRandom.forTest("an arena that is reset serves again")
        let arena = ValueArena()
        var counts: Set<Int> = []
        for _ in 0..<20 {
            // A value that is larger than a block leaves nothing behind.
            _ = (arena.pack("first"), arena.pack(.text(String(repeating: "large", count: 100))), arena.pack("last"))
            arena.reset()
            counts.insert(arena.byteCount)
        }
        #expect(counts.count == 1)
        for _ in 0..<20 {
            let lists = (0..<random.number(below: 60)).map { _ in
                (0..<random.number(below: 30)).map { _ in value(&random) }
            }
            let packed = lists.map { arena.slots($0) }
            for (list, packed) in zip(lists, packed) { #expect(packed.array == list) }
            arena.reset()
        }
    }

    @Test func `snapshots keep an object's values whatever happens to it`() throws {
        var random = SeededRandom.forTest("snapshots keep an object's values whatever happens to it")
        let entity = try #require(try configuredModel("chat").entity(named: "Message"))
        for isNew in [true, false] {
            let row = StoredRow(pk: 1, entity: entity, isPlaceholder: false, values: entity.initialValues("m"))
            let object =
                isNew
                ? ContextObject(entity: entity, pk: 1, values: entity.initialValues("m")) : ContextObject(row: row)
            let original = object.original.array
            var expected = object.state.values.array
            var kept: [(state: ContextObject.State, values: [Value])] = []
            for _ in 0..<500 {
                switch random.number(below: 5) {
                case 0: kept.append((object.snapshot(), expected))
                case 1:
                    guard let former = kept.randomElement(using: &random) else { continue }
                    object.restore(former.state)
                    expected = former.values
                case 2:
                    expected = expected.map { _ in value(&random) }
                    object.setValues(expected)
                default:
                    let slot = random.number(below: entity.slotCount)
                    expected[slot] = value(&random)
                    object[slot] = expected[slot]
                }
                #expect(object.state.values.array == expected)
            }
            for (state, values) in kept { #expect(state.values.array == values) }
            #expect(object.original.array == original)
            #expect(object.changedSlots.sorted == expected.indices.filter { expected[$0] != original[$0] })
        }
    }

    @Test func `an object that outlives its registry's reset keeps its values`() throws {
        let graph = try Graph(configuredModel("chat"))
        let registry = graph.writer.registry
        let entity = try #require(registry.model.entity(named: "Chat"))
        let identity = Value.text("an identity that has memory of its own")
        let held = registry.makeObject(entity: entity, identity: identity)
        registry.reset()
        let next = registry.makeObject(entity: entity, identity: "another one of many bytes, too")
        #expect(held.identity == identity && next.identity == "another one of many bytes, too")
    }

    @Test func `a chunk's memory serves the next one`() throws {
        let graph = try Graph(configuredModel("chat"))
        let registry = graph.writer.registry
        let before = registry.nextArena
        for number in 0..<3 {
            try graph.apply((0..<30).map { graph.upsert("Chat", .text("chat \(number) \($0)"), time: 1) })
        }
        // This test holds the arena, so the registry has taken another one, and kept that.
        let after = registry.nextArena
        #expect(after !== before)
        let identity = ObjectIdentifier(after)
        _ = consume after
        try graph.apply((0..<30).map { graph.upsert("Chat", .text("another \($0)"), time: 1) })
        #expect(ObjectIdentifier(registry.nextArena) == identity)
    }

    @Test func `states of an editing context's object are freed with what holds them`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c", time: 1))
        let context = try EditingContext(graph.writer)
        let chat = try #require(try context.object("Chat", identity: "c"))
        let row = try #require(context.registry.known(chat.objectID.entityIndex, pk: chat.objectID.pk))
        let slot = try #require(row.entity.attribute(named: "title")).slot
        let kept = row.snapshot()
        row[slot] = "first"
        weak let second = row.state.arena
        _ = row.snapshot()
        row[slot] = "second"
        #expect(second == nil && kept.values[slot] != row[slot])
    }

    @Test func `an object that an editing context reads again frees what it was`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply([graph.upsert("Chat", "c", time: 1), graph.upsert("Chat", "d", time: 1)])
        let context = try EditingContext(graph.writer)
        let held = try ["c", "d"].map { try #require(try context.object("Chat", identity: $0)) }
        func arena(_ object: ManagedObject) -> ValueArena? {
            context.registry.known(object.objectID.entityIndex, pk: object.objectID.pk)?.arena
        }
        weak let former = arena(held[0])
        #expect(former != nil && former !== arena(held[1]))
        try context.refresh(held[0], mergeChanges: false)
        #expect(former == nil && arena(held[0]) != nil)
    }

    @Test func `events are packed without a loss`() throws {
        let model = try configuredModel("chat")
        var random = SeededRandom.forTest("events are packed without a loss")
        var generator = EventGenerator(model, seed: random.next())
        let events = generator.events(200)
        let packed = PackedEvents(events, model)
        for (event, packed) in zip(events, packed.events) {
            #expect(String(describing: packed.operations.map(\.value)) == String(describing: event.operations))
        }
        let operations = events.flatMap(\.operations)
        let named = operations.flatMap(\.relationships).flatMap { $0.change.identities }
        #expect(packed.identityCount == operations.count + named.count)
        packed.removeAll()
        #expect(packed.count == 0)
    }
}
