import ObjectGraph
import Testing

@testable import GraphCore

/// Values that have to be unique together and are taken, policy by policy.
@Suite struct CompoundConflictTests {
    let graph: Graph

    init() throws {
        graph = try Graph(yaml: Models.ordered)
        try graph.apply(
            graph.upsert("List", "old", ["tenant": "x", "number": 1, "mail": "old@x"]),
            graph.upsert("List", "other", ["tenant": "x", "number": 2]),
            graph.upsert("Entry", "e", ["list": "old", "name": "n"]))
    }

    private func lists() throws -> [[Value]] {
        try graph.rows("SELECT id, tenant, number, mail FROM List ORDER BY id")
    }

    private let other: [Value] = ["other", "x", 2, .null]

    @Test(arguments: ["error", "objectTrump", "storeTrump", "rollback", "overwrite"])
    func `a new object that claims them both`(_ policy: String) throws {
        let context = try graph.context(policy)
        let list = try context.insert("List", identity: "new", ["tenant": "x", "number": 1, "mail": "new@x"])
        let entry = try context.insert("Entry", identity: "f")
        try entry.setObject("list", list)
        if policy == "error" {
            let error = try #require(editingError { try context.save() })
            #expect(error.code == .constraintConflict && error.conflicts.map(\.constraint) == [["tenant", "number"]])
            try list.set("number", 3)
            try context.save()
            #expect(try lists().map { $0[0] } == ["new", "old", "other"])
            return
        }
        try context.save()
        switch policy {
        case "objectTrump": #expect(try lists() == [["old", "x", 1, "new@x"], other])
        case "overwrite": #expect(try lists() == [["new", "x", 1, "new@x"], other])
        default: #expect(try lists() == [["old", "x", 1, "old@x"], other])
        }
        #expect(try graph.value("Entry", "f", "list") == (policy == "overwrite" ? "new" : "old"))
        #expect(try graph.damage() == "")
    }

    @Test(arguments: ["error", "objectTrump", "storeTrump", "rollback", "overwrite"])
    func `a stored object that completes them`(_ policy: String) throws {
        let context = try graph.context(policy)
        let list = try context.require("List", "other")
        try list.set("number", 1)
        try list.set("mail", "other@x")
        switch policy {
        case "error", "objectTrump": #expect(editingError { try context.save() }?.code == .constraintConflict)
        case "storeTrump":
            try context.save()
            #expect(try lists() == [["old", "x", 1, "old@x"], ["other", "x", 2, "other@x"]])
        case "rollback":
            try context.save()
            #expect(try lists() == [["old", "x", 1, "old@x"], other])
        default:
            try context.save()
            #expect(try lists() == [["other", "x", 1, "other@x"]])
        }
        #expect(try graph.damage() == "")
    }

    @Test(arguments: ["error", "objectTrump", "storeTrump", "rollback", "overwrite"])
    func `a link may be part of them`(_ policy: String) throws {
        let context = try graph.context(policy)
        let entry = try context.insert("Entry", identity: "new", ["name": "n"])
        // The list is new here, and turns out to be one that the store has.
        let list = try context.insert("List", identity: "mine", ["mail": "old@x"])
        if policy == "objectTrump" || policy == "storeTrump" {
            try entry.setObject("list", list)
        } else {
            context.rollback()
            try context.insert("Entry", identity: "new", ["name": "n"]).setObject(
                "list", context.require("List", "old"))
        }
        if policy == "error" {
            let error = try #require(editingError { try context.save() })
            #expect(error.code == .constraintConflict && error.conflicts.map(\.constraint) == [["list", "name"]])
            return
        }
        try context.save()
        #expect(try graph.identities("Entry") == (policy == "overwrite" ? ["new"] : ["e"]))
        #expect(try graph.identities("List") == ["old", "other"])
        #expect(try graph.damage() == "")
    }

    @Test(arguments: ["error", "storeTrump", "rollback", "overwrite"])
    func `a stored object whose link claims them`(_ policy: String) throws {
        try graph.apply(graph.upsert("Entry", "f", ["list": "other", "name": "n"]))
        let context = try graph.context(policy)
        try context.require("Entry", "f").setObject("list", try context.require("List", "old"))
        switch policy {
        case "error": #expect(editingError { try context.save() }?.code == .constraintConflict)
        case "overwrite":
            try context.save()
            #expect(try graph.identities("Entry") == ["f"])
        default:
            try context.save()
            #expect(try graph.value("Entry", "f", "list") == "other")
        }
        #expect(try graph.damage() == "")
    }

    /// Its placeholder holds the value already, by the link that its inverse gave it.
    @Test(arguments: ["error", "objectTrump", "storeTrump", "rollback", "overwrite"])
    func `a new object does not collide with its own placeholder`(_ policy: String) throws {
        let graph = try Graph(
            yaml: Models.ordered.replacingOccurrences(of: "unique: [[list, name]]", with: "unique: [[list]]"))
        try graph.apply(graph.upsert("List", "l", ["entries": ["e"]]))
        let context = try graph.context(policy)
        let entry = try context.insert("Entry", identity: "e", ["name": "arrived"])
        try entry.setObject("list", try context.require("List", "l"))
        let result = try context.save()
        #expect(result.conflicts.isEmpty)
        #expect(try graph.rows("SELECT id, name, _placeholder FROM Entry") == [["e", "arrived", 0]])
        #expect(try graph.value("Entry", "e", "list") == "l")
        #expect(try graph.damage() == "")
    }

    @Test func `two new objects of one context that claim one place`() throws {
        let context = try graph.context("error")
        let list = try context.require("List", "other")
        for id in ["f", "g"] {
            try context.insert("Entry", identity: id, ["name": "same"]).setObject("list", list)
        }
        #expect(editingError { try context.save() }?.conflicts.map(\.constraint) == [["list", "name"]])
        context.options.mergePolicy = .objectTrump
        try context.save()
        #expect(try graph.column("SELECT id FROM Entry WHERE name = 'same'") == ["f"])
    }

    @Test func `links may pass from one object to another in one save`() throws {
        try graph.apply(graph.upsert("Entry", "f", ["list": "other", "name": "n"]))
        let context = try graph.context("error")
        let (e, f) = (try context.require("Entry", "e"), try context.require("Entry", "f"))
        let (old, other) = (try context.require("List", "old"), try context.require("List", "other"))
        try e.setObject("list", other)
        try f.setObject("list", old)
        try context.save()
        #expect(try graph.value("Entry", "e", "list") == "other" && graph.value("Entry", "f", "list") == "old")
    }
}
