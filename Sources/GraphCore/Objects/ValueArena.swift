import Foundation

/// Memory for the values of a chunk's objects, which is freed as one.
///
/// Objects keep the arena that their values stand in. So an object that outlives its registry's reset stays whole. An
/// arena grows with each change of a value. So each state of an object of an editing context has one of its own.
package final class ValueArena {
    /// The bytes of the first block and of the largest ones. Tests meet the bounds of blocks at each step.
    #if DEBUG
    private static let blockBytes = 256...256
    #else
    private static let blockBytes = 512...256 << 10
    #endif

    /// The alignment of all that stands in an arena but bytes.
    private static let alignment = 8

    private var blocks: [Block] = []
    /// The memory of values that are larger than a block.
    private var large: [UnsafeMutableRawPointer] = []
    /// The position of the block that is being filled, and how many of its bytes are taken.
    private var current = 0
    private var used = 0
    private var initial: [SlotValues?] = []

    private struct Block {
        let start: UnsafeMutableRawPointer
        let byteCount: Int
    }

    package init() {}

    deinit {
        for block in blocks { block.start.deallocate() }
        for each in large { each.deallocate() }
    }

    /// The bytes of the blocks.
    var byteCount: Int { blocks.reduce(0) { $0 + $1.byteCount } }

    /// Forgets all values; nobody may hold one. Memory that was not used since the last time is given back.
    package func reset() {
        while blocks.count > current + 1 { blocks.removeLast().start.deallocate() }
        while let each = large.popLast() { each.deallocate() }
        #if DEBUG
        for block in blocks { memset(block.start, 0xDB, block.byteCount) }
        #endif
        (current, used) = (0, 0)
        if !initial.isEmpty { initial.removeAll(keepingCapacity: true) }
    }

    private func allocate(bytes count: Int, alignment: Int) -> UnsafeMutableRawPointer {
        if count > Self.blockBytes.upperBound / 2 {
            let start = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: Self.alignment)
            large.append(start)
            return start
        }
        while current < blocks.count {
            let start = (used + alignment - 1) & ~(alignment - 1)
            if start + count <= blocks[current].byteCount {
                used = start + count
                return blocks[current].start + start
            }
            (current, used) = (current + 1, 0)
        }
        // The first blocks are smaller, and have to hold what is asked for all the same.
        var byteCount = Self.blockBytes.lowerBound << min(blocks.count, 16)
        while byteCount < count { byteCount *= 2 }
        byteCount = min(byteCount, Self.blockBytes.upperBound)
        blocks.append(
            Block(start: .allocate(byteCount: byteCount, alignment: Self.alignment), byteCount: byteCount))
        used = count
        return blocks[current].start
    }

    // MARK: Values

    /// Packs a value, whose bytes are copied.
    package func pack(_ value: borrowing Value) -> PackedValue {
        switch value {
        case .null: return .null
        case .integer(let number): return .integer(number)
        case .double(let number): return .double(number)
        case .text(let text):
            let packed = text.utf8.withContiguousStorageIfAvailable {
                PackedValue.text(copy(UnsafeRawBufferPointer($0)))
            }
            return packed ?? PackedValue.text(copy([UInt8](text.utf8)))
        case .blob(let bytes): return PackedValue.blob(copy(bytes))
        }
    }

    /// Packs a text, whose bytes are copied; they have to be valid UTF-8.
    package func pack(text bytes: UnsafeRawBufferPointer) -> PackedValue { .text(copy(bytes)) }

    /// Copies a value's bytes into this arena.
    func copy(_ value: PackedValue) -> PackedValue {
        switch value.content {
        case .text(let bytes): .text(copy(bytes))
        case .blob(let bytes): .blob(copy(bytes))
        case .null, .integer, .double: value
        }
    }

    private func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer { bytes.withUnsafeBytes { copy($0) } }

    private func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let place = allocate(bytes: bytes.count, alignment: 1)
        place.copyMemory(from: start, byteCount: bytes.count)
        return UnsafeRawBufferPointer(start: place, count: bytes.count)
    }

    // MARK: Slots

    private func makeSlots(_ count: Int) -> UnsafeMutablePointer<PackedValue> {
        allocate(bytes: count * MemoryLayout<PackedValue>.stride, alignment: Self.alignment)
            .bindMemory(to: PackedValue.self, capacity: count)
    }

    // MARK: Lists

    /// Makes a list whose elements are not set yet.
    func list<Element: BitwiseCopyable>(_ count: Int) -> UnsafeMutableBufferPointer<Element> {
        if count == 0 { return UnsafeMutableBufferPointer(start: nil, count: 0) }
        let place = allocate(bytes: count * MemoryLayout<Element>.stride, alignment: Self.alignment)
        return UnsafeMutableBufferPointer(start: place.bindMemory(to: Element.self, capacity: count), count: count)
    }

    /// Makes a list of what `element` makes of each element of another one.
    @inline(__always)
    func list<Source, Element: BitwiseCopyable>(
        _ source: [Source], _ element: (Source) -> Element
    ) -> UnsafeBufferPointer<Element> {
        let made: UnsafeMutableBufferPointer<Element> = list(source.count)
        for index in made.indices { made[index] = element(source[index]) }
        return UnsafeBufferPointer(made)
    }

    /// Packs the values of an object.
    package func slots(_ values: [Value]) -> SlotValues {
        slots(count: values.count) { pack(values[$0]) }
    }

    /// Makes slots of values that stand in this arena, or have no bytes.
    @inline(__always)
    package func slots(count: Int, _ value: (Int) -> PackedValue) -> SlotValues {
        let slots = makeSlots(count)
        for slot in 0..<count { slots[slot] = value(slot) }
        return SlotValues(slots, count: count)
    }

    /// Copies slots, whose bytes both share: they have to stand in this arena.
    func copy(_ values: SlotValues) -> SlotValues {
        slots(count: values.count) { values.packed($0) }
    }

    /// The values that any object of an entity begins with.
    func initialValues(of entity: Entity) -> SlotValues {
        while initial.count <= entity.index { initial.append(nil) }
        if let known = initial[entity.index] { return known }
        let made = slots(entity.initialValues)
        initial[entity.index] = made
        return made
    }
}
