import Foundation
import GRDB

/// The model as a store keeps it: in full, so that a migration can be inferred years later.
struct StoredModel {
    let name: String
    let version: String
    let hash: String
    /// The model itself; nil in stores of a time when it was not kept.
    let model: ObjectModel?
    /// The hashes of the models before, the oldest first.
    let formerHashes: [String]
    let yaml: String?

    init(_ database: Database) throws {
        name = try Self.value("model", database) ?? ""
        version = try Self.value("modelVersion", database) ?? ""
        hash = try Self.value("modelHash", database) ?? ""
        yaml = try Self.value("modelYAML", database)
        formerHashes = try Self.value("formerModels", database)?.split(separator: "\n").map { String($0) } ?? []
        model = yaml.flatMap { try? ObjectModel.parse($0, file: "the store's model") }
    }

    static func value(_ key: String, _ database: Database) throws -> String? {
        try String.fetchOne(database, sql: "SELECT value FROM _metadata WHERE key = ?", arguments: [key])
    }

    static func put(_ key: String, _ value: String, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO _metadata (key, value) VALUES (?, ?) \
                ON CONFLICT (key) DO UPDATE SET value = excluded.value
                """, arguments: [key, value])
    }

    /// Writes a model into the store's metadata.
    static func record(_ model: ObjectModel, in database: Database) throws {
        for (key, value) in [
            ("model", model.name), ("modelVersion", model.version), ("modelHash", model.hash),
            ("modelShape", model.shape), ("modelYAML", model.yaml),
        ] { try put(key, value, database) }
    }

    /// How the store's model and another one agree.
    enum Agreement {
        /// They are the same.
        case same
        /// The store serves the other model as it is, which is to be recorded.
        case serves
        /// The store has to be migrated.
        case differs
    }

    func agreement(with other: ObjectModel) -> Agreement {
        if yaml == other.yaml, hash == other.hash { return .same }
        guard let model else { return hash == other.hash ? .serves : .differs }
        return ModelDifference(from: model, to: other).needsMigration ? .differs : .serves
    }

    /// Tells whether the store has left another model behind: a model of the same name with a smaller version. Where the
    /// versions do not decide, it is a model that the store had before.
    func isNewer(than other: ObjectModel) -> Bool {
        if name == other.name, version != other.version, let own = Self.numbers(version),
            let others = Self.numbers(other.version)
        {
            return others.lexicographicallyPrecedes(own)
        }
        return formerHashes.contains(other.hash) && other.hash != hash
    }

    /// The hashes of the models before another one, once the store has migrated to it: going back forgets what came
    /// after.
    func formerHashes(before other: ObjectModel) -> [String] {
        let all = formerHashes + [hash]
        return all.firstIndex(of: other.hash).map { Array(all[..<$0]) } ?? all
    }

    /// Returns the parts of a version that is made of numbers with points between, or nil.
    private static func numbers(_ version: String) -> [Int]? {
        let parts = version.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        return parts.contains(nil) ? nil : parts.compactMap { $0 }
    }

    /// Refuses another model with words that say what to do.
    func mismatch(_ model: ObjectModel, path: String) -> StoreError {
        let remedy =
            isNewer(than: model)
            ? "The store's model is newer: use that one, or another store.path; the store is unharmed"
            : "Run 'ingest-worker migrate' with the new model, use the model it was made with, or another store.path; "
                + "the store is unharmed"
        return StoreError(
            .modelMismatch,
            "The store at \(path) was made with the model \(name) \(version), not with this shape of \(model.name) "
                + "\(model.version)", remedy: remedy)
    }
}
