import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage
@testable import SQLiteStorage

/// What a storage cannot carry is said before anything is made; what it can carry is written and read.
@Suite struct StorageLimitTests {
    private func model(attributes count: Int, relationships: Int = 0, more: String = "") throws -> ObjectModel {
        func lines(_ count: Int, _ line: (Int) -> String) -> String {
            (0..<count).map { line($0) + "\n" }.joined()
        }
        return try ObjectModel.parse(
            """
            model: wide
            version: 1
            entities:
              Wide:
                identity: id
                attributes:
                  id: { type: string }
            \(lines(count - 1) { "      c\($0): { type: string, optional: true }" })\(more)
            \(relationships > 0 ? "    relationships:" : "")
            \(lines(relationships) { "      r\($0): { to: Part, inverse: b\($0), optional: true }" })
              Part:
                identity: id
                attributes: { id: { type: string } }
            \(relationships > 0 ? "    relationships:" : "")
            \(lines(relationships) { "      b\($0): { to: Wide, many: true, inverse: r\($0) }" })
            """)
    }

    private func refusal(_ body: () throws -> Void) -> StoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    /// Writes an object with a value in each attribute and a link in each relationship, and reads it in each way.
    private func fill(_ store: Store, _ model: ObjectModel, relationships: Int) throws {
        let wide = try #require(model.entity(named: "Wide"))
        let values = wide.attributes.map { ($0.name, Value.text($0.name == "id" ? "w" : "v")) }
        let links = (0..<relationships).map { ("r\($0)", "p\($0)") }
        let graph = try WriterContext(store: store)
        let stated = Array(values.dropFirst()) + links.map { ($0.0, Value.text($0.1)) }
        let properties = stated.map { ($0.0, Property.value($0.1)) }
        _ = try graph.apply(WriterContext.Chunk(events: [ChangeSet(model.upsert("Wide", .text("w"), properties))]))
        try graph.commit()
        let found = try store.read { try $0.fetch(FetchRequest("Wide")) }
        #expect(found.count == 1)
        for (name, value) in values.suffix(2) { #expect(found.first?[name] == value) }
        for (name, identity) in links { #expect(found.first?[name] == Value.text(identity)) }
        #expect(try store.verify().isSound)
        try graph.close()
    }

    @Test func `SQLite carries as many columns as a table has, and a model with more is refused`() throws {
        let limit = Schema.maximumColumns - 2
        let widest = try model(attributes: limit)
        try fill(try Store.inMemory(model: widest), widest, relationships: 0)
        let wider = try model(attributes: limit + 1)
        let error = refusal { _ = try Store.inMemory(model: wider) }
        #expect(error?.code == .modelUnsuited && error?.message.contains("1999") == true, "\(error as Any)")
        #expect(refusal { try Store.checkFile(canKeep: wider) } == error)
    }

    @Test func `PostgreSQL carries as many columns as a table has, and a model with more is refused`() throws {
        let limit = PostgresSchema.maximumTableColumns - 2
        let widest = try model(attributes: limit)
        let store = try Store.inPostgres(model: widest)
        #expect(try store.read { try $0.fetch(FetchRequest("Wide")) }.isEmpty)
        let wide = try model(attributes: 400)
        try fill(try Store.inPostgres(model: wide), wide, relationships: 0)
        let wider = try model(attributes: limit + 1)
        let error = refusal { _ = try Store.inPostgres(model: wider) }
        #expect(error?.code == .modelUnsuited && error?.message.contains("1599") == true, "\(error as Any)")
        #expect(refusal { try Store.checkPostgres(canKeep: wider) } == error)
    }

    @Test func `PostgreSQL refuses an index of more columns than it has, and a title that it would cut`() throws {
        let names = (0..<33).map { "c\($0)" }.joined(separator: ", ")
        let indexed = try model(attributes: 40, more: "    unique: [[\(names)]]\n")
        #expect(refusal { try Store.checkPostgres(canKeep: indexed) }?.message.contains("33 properties") == true)
        try Store.checkFile(canKeep: indexed)
        let long = String(repeating: "n", count: 64)
        let titled = try ObjectModel.parse(
            """
            model: m
            version: 1
            entities:
              A:
                identity: id
                attributes: { id: { type: string } }
                relationships: { \(long): { to: A, many: true, inverse: others } , others: { to: A, many: true, inverse: \(long) } }
            """)
        #expect(refusal { try Store.checkPostgres(canKeep: titled) }?.code == .modelUnsuited)
    }

    @Test(arguments: [16, 17, 52, 200]) func `an object of many to-one relationships is fetched`(count: Int) throws {
        let model = try model(attributes: 1, relationships: count)
        for store in [try Store.inMemory(model: model), try Store.inPostgres(model: model)] {
            try fill(store, model, relationships: count)
            let one = FetchRequest("Wide", where: "r0.id = 'p0' and r\(count - 1).id = 'p\(count - 1)'")
            #expect(try store.read { try $0.fetch(one) }.count == 1)
        }
    }

    @Test func `a model of many entities has a store, with its history for people`() throws {
        let count = 300
        let entities = (0..<count).map { "  E\($0): { identity: id, attributes: { id: { type: string } } }\n" }
        let model = try ObjectModel.parse("model: m\nversion: 1\nentities:\n\(entities.joined())")
        let folder = try TemporaryFolder()
        let store = try Store.open(path: folder.path("s.sqlite"), model: model)
        let writer = try WriterContext(store: store)
        let events = (0..<count).map { ChangeSet(model.upsert("E\($0)", .text("i"), [])) }
        _ = try writer.apply(WriterContext.Chunk(events: events))
        try writer.close()
        #expect(try SQLiteProgram.run(folder.path("s.sqlite"), "SELECT count(*) FROM _history") == "\(count)\n")
    }
}
