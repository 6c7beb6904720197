import ObjectGraph
import Testing

@testable import GraphCore

/// Hierarchies in editing contexts.
@Suite struct EditingHierarchyTests {
    let graph: Graph

    init() throws { graph = try Graph(yaml: Models.hierarchy) }

    private func context(_ policy: MergePolicy = .error) throws -> EditingContext {
        var options = EditingContext.Options()
        options.mergePolicy = policy
        return try EditingContext(graph.writer, options: options)
    }

    @Test func `fetching an entity gives objects of those below it as themselves`() throws {
        try graph.apply(graph.upsert("Note", "n"), graph.upsert("Task", "t"), graph.upsert("Step", "s"))
        for batchSize in [nil, 1] {
            let context = try context()
            let items = try context.fetch(FetchRequest("Item"), batchSize: batchSize)
            #expect(items.map(\.entity.name).sorted() == ["Note", "Step", "Task"])
            #expect(items.map(\.objectID.entity).sorted() == ["Note", "Step", "Task"])
            let tasks = try context.fetch(FetchRequest("Task"))
            #expect(try context.ids(tasks).sorted() == ["s", "t"])
            // The same object is the same handle, by whatever entity it was asked for.
            #expect(tasks.allSatisfy { task in items.contains { $0 === task } })
            let step = try context.require("Item", "s")
            try step.set("size", 1.5)
            try context.save()
        }
        #expect(try graph.value("Step", "s", "size") == 1.5)
    }

    @Test func `an identity of another entity of the hierarchy is not found`() throws {
        try graph.apply(graph.upsert("Task", "t"))
        let context = try context()
        #expect(try context.object("Note", identity: "t") == nil)
        #expect(try context.object("Step", identity: "t") == nil)
        #expect(try context.object("Item", identity: "t")?.entity.name == "Task")
        #expect(try context.object("Note", identity: "t") == nil)
    }

    @Test func `inverses of inherited relationships follow`() throws {
        let context = try context()
        let folder = try context.insert("Folder", identity: "f")
        let note = try context.insert("Note", identity: "n")
        let step = try context.insert("Step", identity: "s")
        try note.setObject("folder", folder)
        try folder.add(step, to: "items")
        try note.setObject("next", step)
        #expect(try context.ids(folder.objects("items")) == ["n", "s"])
        #expect(try step.object("folder") === folder && step.object("previous") === note)
        try context.save()
        #expect(try graph.value("Folder", "f", "itemsCount") == 2)
        #expect(try graph.value("Step", "s", "previous") == "n")
        try context.delete(folder)
        try context.save()
        #expect(try graph.identities("Item") == [])
        #expect(try graph.damage() == "")
    }

    @Test func `a relationship leads to objects below its destination and to no others`() throws {
        let context = try context()
        let folder = try context.insert("Folder", identity: "f")
        try folder.setObject("top", try context.insert("Step", identity: "s"))
        let note = try context.insert("Note", identity: "n")
        #expect(editingError { try folder.setObject("top", note) }?.code == .type)
        #expect(editingError { try folder.add(try context.insert("Task", identity: "t"), to: "pinned") }?.code == .type)
        try context.save()
        #expect(try graph.value("Folder", "f", "top") == "s")
    }

    @Test func `an abstract entity has no objects of its own`() throws {
        let context = try context()
        #expect(editingError { try context.insert("Item", identity: "i") }?.code == .unknownEntity)
        try graph.apply(graph.upsert("Folder", "f", ["items": ["i"]]))
        let item = try context.require("Item", "i")
        #expect(try item.isPlaceholder)
        #expect(editingError { try item.set("title", "x") }?.code == .type)
        #expect(!context.hasChanges)
    }

    @Test func `an insertion completes a placeholder of an entity above or below`() throws {
        try graph.apply(graph.upsert("Folder", "f", ["items": ["i"]]), graph.upsert("Task", "t", ["steps": ["s"]]))
        let context = try context()
        let note = try context.insert("Note", identity: "i", ["title": "late"])
        let task = try context.insert("Task", identity: "s", ["points": 3])
        try context.save()
        #expect(try graph.value("Note", "i", "folder") == "f")
        #expect(try graph.value("Note", "i", "body") == "empty")
        // The reference has named it a Step, and so it is.
        #expect(try graph.rows("SELECT id, points, task IS NOT NULL FROM Step") == [["s", 3, 1]])
        #expect(note.objectID.entity == "Note" && task.objectID.entity == "Step")
        #expect(try graph.damage() == "")
    }

    @Test func `an object that events find to be more special stays the same handle`() throws {
        try graph.apply(graph.upsert("Task", "t", ["points": 1]))
        let context = try context()
        let task = try context.require("Task", "t")
        let id = task.objectID
        try graph.apply(graph.upsert("Step", "t", ["size": 2.5]))
        try context.refresh(task, mergeChanges: true)
        #expect(try task["size"] == 2.5)
        #expect(task.entity.name == "Step" && task.objectID == id)
        #expect(try context.require("Step", "t") === task && context.object(with: id) === task)
    }

    @Test func `the policy of the nearest entity counts`() throws {
        var options = EditingContext.Options()
        options.mergePolicies = ["Item": .rollback, "Task": .overwrite]
        let context = try EditingContext(graph.writer, options: options)
        try graph.apply(graph.upsert("Note", "n", ["title": "a"]), graph.upsert("Step", "s", ["title": "a"]))
        for (entity, id) in [("Note", "n"), ("Step", "s")] {
            try context.require(entity, .text(id)).set("title", "mine")
        }
        try graph.apply(graph.upsert("Note", "n", ["title": "theirs"]), graph.upsert("Step", "s", ["title": "theirs"]))
        try context.save()
        #expect(try graph.rows("SELECT id, title FROM Item ORDER BY id") == [["n", "theirs"], ["s", "mine"]])
    }

    @Test(arguments: ["error", "objectTrump", "storeTrump", "rollback", "overwrite"])
    func `an inherited constraint between objects that cannot become one`(_ name: String) throws {
        try graph.apply(graph.upsert("Task", "t", ["folder": "f", "place": 1, "title": "old"]))
        try graph.apply(graph.upsert("Folder", "f"))
        let context = try context(try #require(MergePolicy(named: name)))
        let note = try context.insert("Note", identity: "n", ["place": 1, "title": "new"])
        try note.setObject("folder", try context.require("Folder", "f"))
        if name == "overwrite" {
            try context.save()
            #expect(try graph.rows("SELECT id, _entity FROM Item") == [["n", "Note"]])
        } else {
            #expect(editingError { try context.save() }?.code == .constraintConflict)
            #expect(try graph.rows("SELECT id, title FROM Item") == [["t", "old"]])
        }
        #expect(try graph.damage() == "")
    }

    /// Somebody refers to a task of the identity that has not arrived.
    @Test(arguments: ["error", "objectTrump", "storeTrump", "rollback", "overwrite"])
    func `a placeholder of an entity beside the new objects`(_ name: String) throws {
        try graph.apply(graph.upsert("Folder", "f", ["top": "x"]))
        let context = try context(try #require(MergePolicy(named: name)))
        let note = try context.insert("Note", identity: "x", ["title": "new"])
        if name == "overwrite" {
            try context.save()
            #expect(try graph.rows("SELECT id, _entity, _placeholder FROM Item") == [["x", "Note", 0]])
            #expect(try graph.value("Folder", "f", "top") == .null)
            #expect(!note.objectID.isTemporary)
        } else {
            #expect(editingError { try context.save() }?.code == .constraintConflict)
            #expect(try graph.rows("SELECT id, _entity, _placeholder FROM Item") == [["x", "Task", 1]])
        }
        #expect(try graph.damage() == "")
    }

    @Test(arguments: ["error", "objectTrump", "storeTrump", "rollback", "overwrite"])
    func `an inherited constraint between an object and one below`(_ name: String) throws {
        try graph.apply(graph.upsert("Task", "t", ["code": "c", "title": "old", "points": 5]))
        let context = try context(try #require(MergePolicy(named: name)))
        let step = try context.insert("Step", identity: "s", ["code": "c", "title": "new", "size": 1])
        if name == "error" {
            #expect(editingError { try context.save() }?.code == .constraintConflict)
            return
        }
        try context.save()
        let rows = try graph.rows("SELECT id, title, points, size, _entity FROM Item")
        switch name {
        case "objectTrump": #expect(rows == [["t", "new", 5, 1.0, "Step"]])
        case "storeTrump": #expect(rows == [["t", "old", 5, 1.0, "Step"]])
        case "rollback": #expect(rows == [["t", "old", 5, .null, "Step"]])
        default: #expect(rows == [["s", "new", 0, 1.0, "Step"]])
        }
        #expect(step.objectID.entity == "Step" && !step.objectID.isTemporary)
        #expect(try graph.damage() == "")
    }

    @Test func `events of entities beside each other are not merged`() throws {
        let yaml = Models.hierarchy.replacingOccurrences(
            of: "    abstract: true\n", with: "    abstract: true\n    mergePolicy: objectTrump\n")
        let graph = try Graph(yaml: yaml)
        #expect(
            try graph.apply(
                graph.upsert("Task", "t", ["folder": "f", "place": 1]),
                graph.upsert("Note", "n", ["folder": "f", "place": 1]),
                graph.upsert("Step", "s", ["folder": "f", "place": 1, "size": 2.0])
            ) == ["applied", "validation.1551", "applied"])
        #expect(try graph.rows("SELECT id, size, _entity FROM Item") == [["t", 2.0, "Step"]])
        #expect(try graph.damage() == "")
    }
}
