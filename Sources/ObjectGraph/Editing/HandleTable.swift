import GraphCore

/// The handles of a context's objects that somebody holds.
///
/// They stand in the order in which they were made. Their memory has the same order, so a loop over all finds the next
/// one nearby.
struct HandleTable {
    private struct Handle {
        weak var object: ManagedObject?
    }

    private var handles: ContiguousArray<Handle> = []
    private var positions: [ObjectKey: Int] = [:]
    private var countAfterCleaning = 0

    /// Returns the handle of an object, if somebody holds it.
    subscript(key: ObjectKey) -> ManagedObject? { positions[key].flatMap { handles[$0].object } }

    mutating func add(_ object: ManagedObject) {
        if handles.count > 2 * countAfterCleaning + 1000 { countAfterCleaning = held().count }
        positions[object.objectID.key] = handles.count
        handles.append(Handle(object: object))
    }

    /// Returns the handles that somebody holds, and forgets the others.
    mutating func held() -> [ManagedObject] {
        var held: [ManagedObject] = []
        held.reserveCapacity(handles.count)
        for handle in handles { if let object = handle.object { held.append(object) } }
        if held.count < handles.count {
            handles.removeAll { $0.object == nil }
            number(held)
        }
        return held
    }

    /// Forgets all handles except the ones that ``held()`` returned, and finds these by their present ids.
    mutating func keep(_ held: [ManagedObject]) {
        // Objects made since stand behind them.
        handles.removeLast(handles.count - held.count)
        number(held)
        countAfterCleaning = held.count
    }

    private mutating func number(_ held: [ManagedObject]) {
        positions.removeAll(keepingCapacity: true)
        positions.reserveCapacity(held.count)
        // Two handles may have become one object; the later handle is then reached only through a reference to it.
        for position in held.indices.reversed() { positions[held[position].objectID.key] = position }
    }
}
