import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

extension PostgresServer {
    /// Opens a new store in a schema of its own.
    func store(_ model: ObjectModel) throws -> Store {
        try Store.postgres(url: url, schema: newSchema(), model: model)
    }
}

extension Store {
    /// Makes a store in a schema of its own on the tests' server.
    static func inPostgres(model: ObjectModel) throws -> Store { try PostgresServer.shared.get().store(model) }

    /// Returns the storage.
    func postgres() throws -> PostgresStorage { try #require(storage as? PostgresStorage) }
}
