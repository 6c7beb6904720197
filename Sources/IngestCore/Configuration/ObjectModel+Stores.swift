import GraphCore
import PostgresStorage
import SQLiteStorage

extension ObjectModel {
    /// Reads a model from a model file, or from a store: the model that a file of SQLite or a schema of PostgreSQL has.
    ///
    /// - Parameter place: the path of a model or a store, or the URL of a store.
    /// - Throws: `ModelError`, and `StoreError` with code `store.model_mismatch` where the store does not keep its model.
    package static func load(fileOrStore place: String) throws -> ObjectModel {
        let stored: StoredModel
        let name: String
        if Store.isPostgres(url: place) {
            (stored, name) = (try Store.storedModelInPostgres(url: place), Store.placeOfPostgres(url: place))
        } else if Store.isDatabase(path: place) {
            (stored, name) = (try Store.storedModel(path: place), place)
        } else {
            return try load(path: place)
        }
        if let model = stored.model { return model }
        throw StoreError(
            .modelMismatch, "The store at \(name) does not keep its model \(stored.name) \(stored.version)",
            remedy: "Open it once with the model file that it was made with")
    }
}
