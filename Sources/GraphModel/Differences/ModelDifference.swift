/// The differences of two models, and the ones among them that a migration can infer.
///
/// A pure value: computed from two models, without a store. Source of what is inferable: Apple's "Using lightweight
/// migration", with attribute type changes that lose nothing added to it.
public struct ModelDifference: Sendable, Equatable {
    /// A migration's way with a change.
    public enum Inference: Sendable, Equatable {
        /// Nothing: the rows stay as they are.
        case unneeded
        /// The migration follows from the models alone.
        case inferred
        /// The migration follows if the rows permit it; the text says what has to hold.
        case checked(String)
        /// No migration follows; the text says why.
        case refused(String)

        /// The word for scripts.
        public var name: String {
            switch self {
            case .unneeded: "unneeded"
            case .inferred: "inferred"
            case .checked: "checked"
            case .refused: "refused"
            }
        }

        /// The condition of a migration, or the reason against it; nil where there is none.
        public var reason: String? {
            switch self {
            case .unneeded, .inferred: nil
            case .checked(let reason), .refused(let reason): reason
            }
        }
    }

    /// The kinds of change; the raw values are stable and meant for scripts.
    public enum Kind: String, Sendable, CaseIterable {
        case entityAdded, entityRemoved, entityRenamed, parentChanged, abstractChanged, identityChanged, versionChanged
        case uniquenessAdded, uniquenessRemoved, indexesChanged, hashModifierChanged, mergePolicyChanged
        case attributeAdded, attributeRemoved, attributeRenamed, attributeMoved, typeChanged, transientChanged
        case madeOptional, madeRequired, derivationChanged, defaultChanged, limitsChanged, indexedChanged
        case preservationChanged
        case relationshipAdded, relationshipRemoved, relationshipRenamed, relationshipMoved, destinationChanged
        case madeToMany, madeToOne, orderChanged, inverseChanged, deleteRuleChanged, countsChanged, onMissingChanged
        case informationChanged
    }

    /// One thing that changed.
    public struct Change: Sendable, Equatable, CustomStringConvertible {
        /// The kind of change.
        public let kind: Kind
        /// The entity, by its new name where it has one.
        public let entity: String
        /// The property, by its new name where it has one; nil where the entity itself is meant.
        public let property: String?
        /// The former state in the words of a model file, or nil.
        public let old: String?
        /// The new state, or nil.
        public let new: String?
        /// A migration's way with the change.
        public let inference: Inference

        /// The entity, or the property as in `Member.email`.
        package var name: String { property.map { "\(entity).\($0)" } ?? entity }

        /// Whether the values of an attribute have no place in the new model.
        package var dropsValues: Bool { kind == .attributeRemoved || kind == .transientChanged && old == "stored" }

        /// The former and the new state in words.
        var values: String {
            switch (old, new) {
            case (let old?, let new?): ": \(old) → \(new)"
            case (let old?, nil): ": was \(old)"
            case (nil, let new?): ": \(new)"
            case (nil, nil): ""
            }
        }

        /// The change in one line.
        public var description: String {
            let reason = inference.reason.map { " (\($0))" } ?? ""
            return "\(name): \(kind.words)\(values) — \(inference.name)\(reason)"
        }
    }

    /// The changes: first the changes of entities in the new model's order, then the removed entities.
    public let changes: [Change]

    /// Computes the changes that lead from one model to another.
    public init(from old: ObjectModel, to new: ObjectModel) {
        var comparison = ModelComparison(ModelMapping(from: old, to: new))
        changes = comparison.changes()
    }

    /// Tells whether the models are the same but for their names and versions.
    public var isEmpty: Bool { changes.isEmpty }

    /// Tells whether a store of the old model has to be migrated before it serves the new one.
    public var needsMigration: Bool { changes.contains { $0.inference != .unneeded } }

    /// The changes that stand against an inferred migration.
    public var refusals: [Change] {
        changes.filter { if case .refused = $0.inference { true } else { false } }
    }

    /// The first changes that need a migration, for a message: `: Order.note: attribute removed; and 3 more`.
    package var summary: String {
        let needed = changes.filter { $0.inference != .unneeded }
        if needed.isEmpty { return "" }
        let shown = needed.prefix(Self.summaryLength).map { "\($0.name): \($0.kind.words)\($0.values)" }
        let rest = needed.count - shown.count
        return ": \(shown.joined(separator: "; "))\(rest > 0 ? "; and \(rest) more" : "")"
    }

    private static let summaryLength = 5

    /// The changes as lines of text, or a line that says that there is no change.
    public var text: String {
        isEmpty ? "no difference\n" : changes.map { $0.description + "\n" }.joined()
    }
}

extension ModelDifference: JSONWritable {
    /// The difference as one JSON object.
    public var json: String {
        JSONObject([
            "equal": isEmpty, "needsMigration": needsMigration, "inferable": refusals.isEmpty,
            "changes": changes.map { change in
                var object = JSONObject(["kind": change.kind.rawValue, "entity": change.entity])
                object.add("property", change.property)
                object.add("old", change.old)
                object.add("new", change.new)
                object.add("inference", change.inference.name)
                object.add("reason", change.inference.reason)
                return object
            },
        ]).json
    }
}

extension ModelDifference.Kind {
    /// The kind in words: `attributeAdded` is "attribute added".
    var words: String {
        rawValue.map { $0.isUppercase ? " \($0.lowercased())" : String($0) }.joined()
    }
}
