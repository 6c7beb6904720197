import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Indexes that a model declares: compound, partial, on expressions.
@Suite struct IndexTests {
    private func sql(_ index: String) throws -> String {
        let graph = try Graph(yaml: Models.indexed(index))
        let known = try Graph(yaml: Models.indexed("")).column("SELECT sql FROM sqlite_master WHERE type = 'index'")
        let all = try graph.column("SELECT sql FROM sqlite_master WHERE type = 'index'")
        return all.filter { !known.contains($0) }.compactMap(\.text).joined(separator: "\n")
    }

    @Test func `a list of properties is a compound index`() throws {
        #expect(try sql("[title, owner]") == "CREATE INDEX \"Chat.title.owner\" ON \"Chat\" (\"title\", \"owner\")")
    }

    @Test func `an index may have a name and descend`() throws {
        #expect(
            try sql("{ name: recent, on: [owner, { property: sentAt, descending: true }] }")
                == "CREATE INDEX \"Chat:recent\" ON \"Chat\" (\"owner\", \"sentAt\" DESC)")
    }

    @Test func `an expression index uses functions that every SQLite has`() throws {
        #expect(try sql("{ on: [{ expression: 'lowercase:(title)' }] }").hasSuffix("(lower(\"title\"))"))
        #expect(
            try sql("{ on: [{ expression: 'uppercase:(title)', descending: true }] }").hasSuffix(
                "(upper(\"title\") DESC)"))
        #expect(
            try sql("{ on: [{ expression: 'canonical:(title)' }, size] }").hasSuffix("(lower(\"title\"), \"size\")"))
    }

    @Test(arguments: [
        ("isDone == NO", "\"isDone\" = 0"), ("isDone = YES AND size > 3", "(\"isDone\" = 1 AND \"size\" > 3)"),
        ("title != nil", "\"title\" IS NOT NULL"), ("owner = nil", "\"owner\" IS NULL"),
        ("kind = 'a' OR kind IN {'b', 'c'}", "(\"kind\" = 'a' OR \"kind\" IN ('b','c'))"),
        ("size = 1 OR size = 2 OR isDone = YES", "(\"size\" = 1 OR \"size\" = 2 OR \"isDone\" = 1)"),
        ("size BETWEEN {1, 9}", "\"size\" BETWEEN 1 AND 9"),
        ("sentAt >= '1970-01-01T00:00:01Z'", "\"sentAt\" >= 1000000"), ("NOT size < 2", "((\"size\" < 2) IS NOT TRUE)"),
        ("kind = \"it's\"", "\"kind\" = 'it''s'"),
    ]) func `a condition makes a partial index`(_ condition: String, _ expected: String) throws {
        let quoted = condition.replacingOccurrences(of: "'", with: "''")
        #expect(try sql("{ on: [title], where: '\(quoted)' }").hasSuffix("(\"title\") WHERE \(expected)"))
    }

    @Test func `a query uses a partial index`() throws {
        let graph = try Graph(yaml: Models.indexed("{ name: open, on: [title], where: isDone == NO }"))
        let plan = try graph.rows("EXPLAIN QUERY PLAN SELECT id FROM Chat WHERE isDone = 0 AND title = 'x'")
        #expect(plan.first?.last?.text?.contains("Chat:open") == true)
    }

    @Test func `the program sqlite3 writes a store with such indexes`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store.sqlite")
        let model = try ObjectModel.parse(
            Models.indexed("{ on: [{ expression: 'canonical:(title)' }], where: 'size > 1' }, [title, sentAt]"))
        let store = try Store.open(path: path, model: model)
        try store.close()
        try SQLiteProgram.run(path, "INSERT INTO Chat (pk, id, title, size) VALUES (1, 'x', 'T', 5)")
        #expect(try SQLiteProgram.run(path, "SELECT id FROM Chat WHERE lower(title) = 't' AND size > 1") == "x\n")
    }

    @Test(arguments: [
        ("[draft]", "has no column"), ("[owned]", "has no column"), ("{ name: x }", "does not say what it is on"),
        ("{ on: [{ expression: 'length:(title)' }] }", "no expression that can be indexed"),
        ("{ on: [{ expression: 'lowercase:(size)' }] }", "is no text and has no case"),
        ("{ on: [{ property: title, expression: title }] }", "or two things"),
        ("{ on: [title], where: 'owner.title = nil' }", "cannot be kept in the store"),
        ("{ on: [title], where: 'title CONTAINS[c] ''x''' }", "cannot be kept in the store"),
        ("{ on: [title], where: 'price > 3' }", "cannot be kept in the store"),
        ("{ on: [title], where: 'nothing = 3' }", "has no property 'nothing'"),
        ("{ on: [title], where: 'size >' }", "cannot be kept in the store"),
        ("{ name: 'a b', on: [title] }", "cannot be an index's name"), ("{ on: [title], unique: true }", "is no key"),
    ]) func `an index of an unfit property is refused with its line`(_ index: String, _ message: String) throws {
        do {
            _ = try ObjectModel.parse(Models.indexed(index), file: "m.yaml")
            Issue.record("it was taken")
        } catch {
            let problem = try #require(error.problems.first { $0.message.contains(message) }, "\(error)")
            #expect(problem.line == 16)
            #expect(problem.remedy.count > 5)
        }
    }
}
