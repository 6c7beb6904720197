import ObjectGraph
import Testing

@testable import GraphCore

/// Ordered relationships in editing contexts: in memory, in the store, in undo.
@Suite struct EditingOrderTests {
    let graph: Graph
    let context: EditingContext
    private static let names = ["entries", "loose", "friends"]

    init() throws {
        graph = try Graph(yaml: Models.ordered)
        context = try EditingContext(graph.writer)
    }

    /// A list `l` with three objects in a relationship, saved in the order c, a, b.
    private func seeded(_ name: String) throws -> (list: ManagedObject, objects: [String: ManagedObject]) {
        let list = try context.insert("List", identity: "l")
        var objects: [String: ManagedObject] = [:]
        for id in ["a", "b", "c", "d"] {
            objects[id] = try context.insert(name == "friends" ? "List" : "Entry", identity: id)
        }
        try list.setObjects(name, ["c", "a", "b"].compactMap { objects[$0] })
        try context.save()
        return (list, objects)
    }

    private func stored(_ name: String) throws -> [Value] {
        try graph.store.read { context in
            var request = FetchRequest("List", where: "id = 'l'")
            request.properties = [name]
            return try context.fetch(request).first?.identities(of: name) ?? []
        }
    }

    @Test(arguments: names) func `a list keeps its order in memory and in the store`(_ name: String) throws {
        let (list, objects) = try seeded(name)
        #expect(try context.ids(list.objects(name)) == ["c", "a", "b"])
        #expect(try stored(name) == ["c", "a", "b"])
        try list.setObjects(name, ["d", "b", "c", "b"].compactMap { objects[$0] })
        #expect(try context.ids(list.objects(name)) == ["d", "b", "c"])
        try context.save()
        #expect(try context.ids(list.objects(name)) == ["d", "b", "c"])
        #expect(try stored(name) == ["d", "b", "c"])
        let other = try EditingContext(graph.writer)
        #expect(try other.ids(other.require("List", "l").objects(name)) == ["d", "b", "c"])
        #expect(try graph.damage() == "")
    }

    @Test(arguments: names) func `an object that replaces another stands before those that stay`(_ name: String)
        throws
    {
        let (list, objects) = try seeded(name)
        try list.setObjects(name, ["d", "a", "b"].compactMap { objects[$0] })
        try context.save()
        #expect(try stored(name) == ["d", "a", "b"])
        #expect(try context.ids(list.objects(name)) == ["d", "a", "b"])
        #expect(try graph.damage() == "")
    }

    @Test(arguments: names) func `a reordering alone is a change of the owner`(_ name: String) throws {
        let (list, objects) = try seeded(name)
        let token = try graph.store.read { try $0.lastToken() }
        let (a, b, c) = (try #require(objects["a"]), try #require(objects["b"]), try #require(objects["c"]))
        try list.setObjects(name, [a, b, c])
        #expect(context.hasChanges && context.updatedObjects.map(\.objectID) == [list.objectID])
        #expect(list.isUpdated)
        let result = try context.save()
        #expect(result.updated == [list.objectID])
        #expect(try graph.history(after: token) == ["update List l \(name)"])
        #expect(try stored(name) == ["a", "b", "c"])
        #expect(!context.hasChanges)
        try list.setObjects(name, [a, b, c])
        #expect(!context.hasChanges)
    }

    @Test(arguments: names) func `inserting at a place and moving`(_ name: String) throws {
        let (list, objects) = try seeded(name)
        let (a, d) = (try #require(objects["a"]), try #require(objects["d"]))
        try list.insert(d, into: name, at: 1)
        try list.insert(a, into: name, at: 0)
        try context.save()
        #expect(try stored(name) == ["a", "c", "d", "b"])
        try list.insert(a, into: name, at: 99)
        try context.save()
        #expect(try stored(name) == ["c", "d", "b", "a"])
        #expect(editingError { try list.insert(a, into: "fans", at: 0) }?.code == .type)
    }

    @Test(arguments: names) func `adding puts behind what others added meanwhile`(_ name: String) throws {
        let (list, objects) = try seeded(name)
        try list.remove(try #require(objects["a"]), from: name)
        try list.add(try #require(objects["d"]), to: name)
        try graph.apply(graph.upsert("List", "l", [name: .add("x")]))
        try graph.apply(graph.upsert("List", "l", [name: ["x", "b", "a", "c"]]))
        try context.save()
        // The others' order stays, for this context has only added and removed.
        #expect(try stored(name) == ["x", "b", "c", "d"])
    }

    @Test(arguments: names) func `a new order wins and what others added comes behind`(_ name: String) throws {
        let (list, objects) = try seeded(name)
        try list.setObjects(name, ["a", "b", "c"].compactMap { objects[$0] })
        try graph.apply(graph.upsert("List", "l", [name: .edit(add: ["x"], remove: ["b"])]))
        try context.save()
        #expect(try stored(name) == ["a", "c", "x"])
        #expect(try graph.damage() == "")
    }

    @Test(arguments: names) func `undo brings the order back and redo takes it again`(_ name: String) throws {
        let (list, objects) = try seeded(name)
        try list.setObjects(name, ["b", "c", "a"].compactMap { objects[$0] })
        try list.insert(try #require(objects["d"]), into: name, at: 0)
        context.undo()
        #expect(try context.ids(list.objects(name)) == ["b", "c", "a"])
        context.undo()
        #expect(try context.ids(list.objects(name)) == ["c", "a", "b"])
        #expect(!context.hasChanges)
        context.redo()
        context.redo()
        #expect(try context.ids(list.objects(name)) == ["d", "b", "c", "a"])
        try context.save()
        #expect(try stored(name) == ["d", "b", "c", "a"])
    }

    @Test(arguments: names) func `rollback refresh and reset`(_ name: String) throws {
        let (list, objects) = try seeded(name)
        try list.setObjects(name, ["a", "b", "c"].compactMap { objects[$0] })
        context.refreshAll()
        #expect(try context.ids(list.objects(name)) == ["a", "b", "c"])
        try context.refresh(list, mergeChanges: true)
        #expect(try context.ids(list.objects(name)) == ["a", "b", "c"])
        context.rollback()
        #expect(!context.hasChanges)
        #expect(try context.ids(list.objects(name)) == ["c", "a", "b"])
    }

    @Test func `the other side appends`() throws {
        let (list, objects) = try seeded("entries")
        try #require(objects["d"]).setObject("list", list)
        let fresh = try context.insert("Entry", identity: "e")
        try fresh.setObject("list", list)
        try #require(objects["c"]).setObject("list", nil)
        try #require(objects["c"]).setObject("list", list)
        #expect(try context.ids(list.objects("entries")) == ["a", "b", "d", "e", "c"])
        try context.save()
        #expect(try stored("entries") == ["a", "b", "d", "e", "c"])
    }

    @Test func `both sides of many-to-many may have an order`() throws {
        let graph = try Graph(yaml: Models.hierarchy)
        let context = try EditingContext(graph.writer)
        let (note, task) = (try context.insert("Note", identity: "n"), try context.insert("Task", identity: "t"))
        let (a, b) = (try context.insert("Label", identity: "a"), try context.insert("Label", identity: "b"))
        try note.setObjects("labels", [b, a])
        try task.setObjects("labels", [a, b])
        try a.setObjects("items", [task, note])
        try context.save()
        #expect(try context.ids(note.objects("labels")) == ["b", "a"])
        #expect(try context.ids(a.objects("items")) == ["t", "n"])
        #expect(try context.ids(b.objects("items")) == ["n", "t"])
        try b.setObjects("items", [task, note])
        let result = try context.save()
        #expect(result.updated == [b.objectID])
        #expect(try graph.damage() == "")
    }
}
