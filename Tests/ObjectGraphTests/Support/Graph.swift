import Foundation
import ObjectGraph

@testable import GraphCore
@testable import SQLiteStorage

/// A throw-away store with its writer, and short words for events.
final class Graph {
    let model: ObjectModel
    let store: Store
    private(set) var writer: WriterContext
    private let options: WriterContext.Options
    private var copy: Store?

    /// Makes the writer of a store in memory, or of the file at `path`; see ``KeyEnforcement``.
    init(
        _ model: ObjectModel, path: String? = nil, clock: Clock? = nil, setDeletionThreshold: Int = 1000,
        enforcesKeys: Bool? = nil, storage: TestStorage = .current
    ) throws {
        self.model = model
        store =
            try path.map { try Store.open(path: $0, model: model) }
            ?? storage.store(model)
        if storage == .sqlite, enforcesKeys ?? (path == nil && KeyEnforcement.isOn) { try KeyEnforcement.turnOn(store) }
        var options = WriterContext.Options()
        if let clock { options.now = { clock.now } }
        options.setDeletionThreshold = setDeletionThreshold
        self.options = options
        writer = try WriterContext(store: store, options: options)
    }

    /// Makes the writer of a store.
    init(_ store: Store) throws {
        model = store.model
        self.store = store
        options = WriterContext.Options()
        writer = try WriterContext(store: store, options: options)
    }

    /// Makes the writer of a store in memory with options of its own.
    init(_ model: ObjectModel, options: WriterContext.Options) throws {
        self.model = model
        let storage = TestStorage.current
        store = try storage.store(model)
        if storage == .sqlite, KeyEnforcement.isOn { try KeyEnforcement.turnOn(store) }
        self.options = options
        writer = try WriterContext(store: store, options: options)
    }

    convenience init(yaml: String, setDeletionThreshold: Int = 1000) throws {
        try self.init(try ObjectModel.parse(yaml), setDeletionThreshold: setDeletionThreshold)
    }

    /// Ends the writer and makes the next one, as a worker that starts again.
    func restart() throws {
        try writer.close()
        writer = try WriterContext(store: store, options: options)
    }

    // MARK: Events

    func upsert(
        _ entity: String, _ identity: Value, _ properties: KeyValuePairs<String, Property> = [:], time: Int64? = nil
    )
        -> ChangeSet
    {
        ChangeSet(model.upsert(entity, identity, properties.map { ($0.key, $0.value) }, time: time))
    }

    func delete(_ entity: String, _ identity: Value, version: Value = .null, time: Int64? = nil) -> ChangeSet {
        ChangeSet(model.delete(entity, identity, version: version, time: time))
    }

    // MARK: Applying

    /// Applies events in one chunk and commits.
    @discardableResult
    func apply(_ events: [ChangeSet]) throws -> WriterContext.ChunkResult {
        let chunk = WriterContext.Chunk(events: events, source: "test")
        // As the worker does.
        return try draft(chunk) ?? commit(chunk, mayConflict: false)
    }

    /// Commits a chunk as a draft, and returns nil where the draft is lost.
    private func draft(_ chunk: WriterContext.Chunk) throws -> WriterContext.ChunkResult? {
        do {
            return writer.drafts ? try commit(chunk, mayConflict: true) : nil
        } catch let error as StoreError {
            if error.code == .conflict { return nil }
            throw error
        }
    }

    private func commit(_ chunk: WriterContext.Chunk, mayConflict: Bool) throws -> WriterContext.ChunkResult {
        let result = try writer.apply(chunk, mayConflict: mayConflict)
        try writer.commit()
        // That of a draft is known to its commit.
        return WriterContext.ChunkResult(
            outcomes: result.outcomes, changes: result.changes, placeholderCount: result.placeholderCount,
            token: result.token == nil ? nil : writer.committedToken)
    }

    /// Applies events in one chunk, commits and returns the outcomes as words: "applied", "stale" or a failure's code.
    @discardableResult
    func apply(_ events: ChangeSet...) throws -> [String] {
        try apply(events).outcomes.map(\.word)
    }

    // MARK: Looking

    /// Returns the rows of a query.
    func rows(_ sql: String) throws -> [[Value]] {
        func rows(_ connection: SQLiteWriterSession) throws -> [[Value]] {
            let statement = try PreparedStatement(connection.connection, sql: sql)
            var rows: [[Value]] = []
            while try statement.step() { rows.append((0..<statement.columnCount).map { statement.value($0) }) }
            return rows
        }
        if (try? store.sqlite()) != nil { return try writer.write("query", rows) }
        return try holdingStill {
            try copy?.sqlite().onWriter { try rows(SQLiteWriterSession($0, model: model)) } ?? []
        }
    }

    /// Calls `body`, in which nothing changes the store: of a store in memory all queries then share one copy.
    func holdingStill<Result>(_ body: () throws -> Result) throws -> Result {
        if copy != nil { return try body() }
        try writer.commit()
        copy = try store.inSQLite()
        defer { copy = nil }
        return try body()
    }

    /// Returns the first column of a query's rows.
    func column(_ sql: String) throws -> [Value] { try rows(sql).compactMap(\.first) }

    /// Returns the only value of a query.
    func value(_ sql: String) throws -> Value? { try column(sql).first }

    /// Returns an attribute of an object, or nil where there is no such object.
    func value(_ entity: String, _ identity: String, _ property: String) throws -> Value? {
        try value("SELECT \"\(property)\" FROM \"\(entity)_readable\" WHERE id = '\(identity)'")
    }

    /// The identities of an entity's objects in order.
    func identities(_ entity: String) throws -> [Value] { try column("SELECT id FROM \"\(entity)\" ORDER BY id") }

    /// What the verifier has to say against the store; empty where it is sound.
    func damage() throws -> String {
        let report = try store.inSQLite().verify()
        return report.isSound ? "" : report.text
    }

    func tombstones() throws -> [[Value]] {
        try rows("SELECT entity, identity, version, time FROM _tombstone ORDER BY entity, identity")
    }

    /// The history after a token, as lines "insert Chat c1" or "update Chat c1 title,body".
    func history(after token: Int64 = 0) throws -> [String] {
        try store.read { try $0.history(after: token) }.flatMap(\.changes).map { change in
            ([change.kind.name, change.entity, change.identity.text ?? "?"]
                + (change.properties.isEmpty ? [] : [change.properties.joined(separator: ",")])).joined(separator: " ")
        }
    }
}

extension EventOutcome {
    var word: String {
        switch self {
        case .applied: "applied"
        case .stale: "stale"
        case .failed(let failure): failure.code
        }
    }
}

extension ObjectModel {
    /// Makes an operation; the version is taken from the property that is the entity's version, as decoders do.
    func upsert(_ entity: String, _ identity: Value, _ properties: [(String, Property)], time: Int64? = nil)
        -> ObjectOperation
    {
        let entity = required(entity)
        var operation = ObjectOperation(.upsert, entity: entity.index, identity: identity)
        operation.time = time
        for (name, property) in properties {
            if let attribute = entity.attribute(named: name), case .value(let value) = property {
                operation.attributes.append(ObjectOperation.AttributeValue(slot: attribute.slot, value: value))
                if attribute.slot == entity.versionSlot { operation.version = value }
            } else if let relationship = entity.relationship(named: name) {
                operation.relationships.append(
                    ObjectOperation.RelationshipValue(relationship: relationship.index, change: property.change))
            } else {
                preconditionFailure("\(entity.name) has no property \(name)")
            }
        }
        return operation
    }

    func delete(_ entity: String, _ identity: Value, version: Value = .null, time: Int64? = nil)
        -> ObjectOperation
    {
        var operation = ObjectOperation(.delete, entity: required(entity).index, identity: identity)
        operation.version = version
        operation.time = time
        return operation
    }

    private func required(_ name: String) -> Entity {
        guard let entity = entity(named: name) else { preconditionFailure("no entity \(name)") }
        return entity
    }
}

extension Property {
    var change: RelationshipChange {
        switch self {
        case .value(let identity): .one(identity)
        case .replace(let identities): .replace(identities)
        case .edit(let add, let remove): .edit(add: add, remove: remove)
        }
    }
}

/// A model of the project's config folder.
func configuredModel(_ name: String) throws -> ObjectModel {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    return try ObjectModel.load(path: root.appendingPathComponent("config/models/\(name).yaml").path)
}
