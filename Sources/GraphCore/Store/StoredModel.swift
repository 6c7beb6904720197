/// The model as a store keeps it: in full, so that a migration can be inferred years later.
package struct StoredModel {
    package let name: String
    package let version: String
    package let hash: String
    /// The model itself; nil in stores of a time when it was not kept.
    package let model: ObjectModel?
    /// The hashes of the models before, the oldest first.
    package let formerHashes: [String]
    package let yaml: String?

    /// Reads the model from the metadata of a store.
    ///
    /// - Parameter value: returns the value of a key, or nil.
    package init(_ value: (String) throws -> String?) rethrows {
        name = try value("model") ?? ""
        version = try value("modelVersion") ?? ""
        hash = try value("modelHash") ?? ""
        yaml = try value("modelYAML")
        formerHashes = try value("formerModels")?.split(separator: "\n").map { String($0) } ?? []
        model = yaml.flatMap { try? ObjectModel.parse($0, file: "the store's model") }
    }

    /// The keys and values of the metadata of a store that holds objects of a model.
    package static func metadata(_ model: ObjectModel) -> [(key: String, value: String)] {
        [
            ("model", model.name), ("modelVersion", model.version), ("modelHash", model.hash),
            ("modelShape", model.shape), ("modelYAML", model.yaml),
        ]
    }

    /// How the store's model and another one agree.
    package enum Agreement {
        /// They are the same.
        case same
        /// The store serves the other model as it is, which is to be recorded.
        case serves
        /// The store has to be migrated.
        case differs
    }

    package func agreement(with other: ObjectModel) -> Agreement {
        if yaml == other.yaml, hash == other.hash { return .same }
        guard let model else { return hash == other.hash ? .serves : .differs }
        return ModelDifference(from: model, to: other).needsMigration ? .differs : .serves
    }

    /// Tells whether the store has left another model behind: a model of the same name with a smaller version. Where the
    /// versions do not decide, it is a model that the store had before.
    package func isNewer(than other: ObjectModel) -> Bool {
        if name == other.name, version != other.version, let own = Self.numbers(version),
            let others = Self.numbers(other.version)
        {
            return others.lexicographicallyPrecedes(own)
        }
        return formerHashes.contains(other.hash) && other.hash != hash
    }

    /// The hashes of the models before another one, once the store has migrated to it: going back forgets what came
    /// after.
    package func formerHashes(before other: ObjectModel) -> [String] {
        let all = formerHashes + [hash]
        return all.firstIndex(of: other.hash).map { Array(all[..<$0]) } ?? all
    }

    /// Returns the parts of a version that is made of numbers with points between, or nil.
    private static func numbers(_ version: String) -> [Int]? {
        let parts = version.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        return parts.contains(nil) ? nil : parts.compactMap { $0 }
    }

    /// Checks that the store may be used with a model.
    ///
    /// - Parameter otherStore: the setting that names another store.
    /// - Returns: whether the model is to be recorded, for it differs in nothing that the store holds.
    /// - Throws: ``StoreError`` with code `store.model_mismatch`, which says what to do.
    package func check(_ model: ObjectModel, path: String, otherStore: String) throws(StoreError) -> Bool {
        let agreement = agreement(with: model)
        if agreement != .differs { return agreement == .serves }
        let remedy =
            isNewer(than: model)
            ? "The store's model is newer: use that one, or \(otherStore); the store is unharmed"
            : "Use the model it was made with, or \(otherStore); the store is unharmed. If the new model is meant, "
                + "look at 'ingest-worker migrate --dry-run', or in a program at Migrator.plan(to:)"
        throw StoreError(
            .modelMismatch,
            "The store at \(path) was made with the model \(name) \(version), not with this shape of \(model.name) "
                + "\(model.version)\(differences(from: model))", remedy: remedy)
    }

    /// The changes for which the store does not fit a model, in words; nothing where the store does not keep its model.
    private func differences(from other: ObjectModel) -> String {
        self.model.map { ModelDifference(from: $0, to: other).summary } ?? ""
    }
}
