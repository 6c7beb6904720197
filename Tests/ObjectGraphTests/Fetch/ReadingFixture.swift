import StoreSQL
import TestSupport
import Testing

import struct Foundation.URL
import struct GRDB.Configuration
import class GRDB.DatabaseQueue

@testable import GraphCore
@testable import ObjectGraph
@testable import PostgresStorage
@testable import SQLiteStorage

/// A store filled through the writer, and hands to damage it with.
struct ReadingFixture {
    let store: Store
    let model: ObjectModel

    /// The models of the repository.
    enum Name: String {
        case chat
        case workOrders = "work-orders"
    }

    static func model(_ name: Name) throws -> ObjectModel {
        var folder = URL(fileURLWithPath: #filePath)
        while folder.lastPathComponent != "Tests" { folder.deleteLastPathComponent() }
        let path = folder.deletingLastPathComponent().appendingPathComponent("config/models/\(name.rawValue).yaml").path
        return try ObjectModel.load(path: path)
    }

    init(_ name: Name, _ events: [ChangeSet] = []) throws {
        try self.init(model: try Self.model(name), events)
    }

    init(yaml: String, _ events: [ChangeSet] = []) throws {
        try self.init(model: try ObjectModel.parse(yaml), events)
    }

    init(model: ObjectModel, _ events: [ChangeSet] = [], storage: TestStorage = .sqlite) throws {
        self.model = model
        store = try storage.store(model)
        try apply(events)
    }

    /// Takes a store that is there.
    init(_ store: Store) {
        self.store = store
        model = store.model
    }

    func apply(_ events: [ChangeSet], chunkSize: Int = 1000) throws {
        let writer = try WriterContext(store: store)
        for start in stride(from: 0, to: events.count, by: chunkSize) {
            let part = Array(events[start..<min(start + chunkSize, events.count)])
            let result = try writer.apply(WriterContext.Chunk(events: part))
            for outcome in result.outcomes {
                if case .failed(let failure) = outcome { throw failure }
            }
        }
        try writer.close()
    }

    /// What an event says of a property, short to write.
    enum Said {
        case text(String)
        case one(String?)
        case many([String])
    }

    /// Makes an event that upserts an object; texts are read as the attributes' types.
    func upsert(_ entity: String, _ id: String, _ said: [String: Said] = [:]) -> ChangeSet {
        Self.upsert(model, entity, id, said)
    }

    static func upsert(_ model: ObjectModel, _ entity: String, _ id: String, _ said: [String: Said]) -> ChangeSet {
        var operation = operation(.upsert, model, entity, id)
        let entity = model.entities[operation.entity]
        for (name, said) in said.sorted(by: { $0.key < $1.key }) {
            if case .text(let text) = said, let attribute = entity.attribute(named: name) {
                operation.attributes.append(.init(slot: attribute.slot, value: value(text, attribute.type)))
            } else if let relationship = entity.relationship(named: name) {
                let type = model.entities[relationship.destinationIndex].identity.type
                operation.relationships.append(.init(relationship: relationship.index, change: change(said, type)))
            } else {
                Issue.record("\(entity.name) has no \(name)")
            }
        }
        return ChangeSet(operation)
    }

    private static func change(_ said: Said, _ type: AttributeType) -> RelationshipChange {
        switch said {
        case .one(let id): .one(id.map { value($0, type) } ?? .null)
        case .many(let ids): .replace(ids.map { value($0, type) })
        case .text(let id): .one(value(id, type))
        }
    }

    private static func value(_ text: String, _ type: AttributeType) -> Value {
        if let value = type.value(fromText: text) { return value }
        Issue.record("'\(text)' is no \(type.rawValue)")
        return .null
    }

    private static func operation(
        _ kind: ObjectOperation.Kind, _ model: ObjectModel, _ name: String, _ id: String
    ) -> ObjectOperation {
        let entity = model.entity(named: name) ?? model.entities[0]
        return ObjectOperation(kind, entity: entity.index, identity: value(id, entity.identity.type))
    }

    static func delete(_ model: ObjectModel, _ entity: String, _ id: String, time: Int64? = nil) -> ChangeSet {
        var operation = operation(.delete, model, entity, id)
        operation.time = time
        return ChangeSet(operation)
    }

    /// Runs SQL on a connection of its own, with foreign keys off.
    func damage(_ sql: String) throws {
        if let postgres = store.storage as? PostgresStorage {
            let schema = "SET search_path = \(SQLText.quoted(postgres.address.schema)); "
            _ = try PostgresServer.shared.get().query(schema + sql)
            return
        }
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: store.path, configuration: configuration)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// The objects of a request, which every storage finds.
    func fetch(_ request: FetchRequest) throws -> [FetchedObject] {
        let checked = try request.checked(with: model)
        let found = try store.read { try $0.fetch(checked) }
        for storage in TestStorage.allCases where storage != .sqlite {
            let other = try store.read(from: storage) { try $0.fetch(checked) }
            #expect(other.map(\.parts) == found.map(\.parts), "\(storage): \(request)")
        }
        return found
    }

    /// The identities of what a condition finds, in their order.
    func identities(_ entity: String, _ condition: String) throws -> [String] {
        var request = FetchRequest(entity, where: condition)
        let found = try #require(model.entity(named: entity))
        request.sort = [found.identity.name]
        let checked = try request.checked(with: model)
        let objects = try fetch(request)
        for storage in TestStorage.allCases {
            #expect(try store.read(from: storage) { try $0.count(checked) } == objects.count)
        }
        let identities = objects.map { found.identity.type.text(of: $0[found.identity.name] ?? .null) }
        #expect(try judged(request) == identities, "\(condition) in memory")
        return identities
    }

    /// The identities of the objects that a request's condition is true of in memory, by the library's evaluator.
    func judged(_ request: FetchRequest) throws -> [String] {
        let checked = try request.checked(with: model)
        return try store.read { context in
            let registry = ObjectRegistry(
                SQLiteWriterSession(try context.connection(), model: model), model: model, setDeletionThreshold: .max)
            let objects = RegistryObjects(registry: registry) { try registry.destinations(of: $0, $1) }
            let evaluator = PredicateEvaluator(objects, now: checked.time)
            var all = FetchRequest(checked.entity.name)
            all.sort = [checked.entity.identity.name]
            return try context.fetch(all).compactMap { object in
                guard let row = try registry.object(entity: object.entity.index, pk: object.pk) else { return nil }
                if let predicate = checked.predicate, try !evaluator.isTrue(predicate, of: row) { return nil }
                return checked.entity.identity.type.text(of: row.identity)
            }
        }
    }
}
