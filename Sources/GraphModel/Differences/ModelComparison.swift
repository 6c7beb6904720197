/// Compares two models entity by entity; see ``ModelDifference``.
package struct ModelComparison {
    typealias Change = ModelDifference.Change
    typealias Kind = ModelDifference.Kind
    typealias Inference = ModelDifference.Inference

    let mapping: ModelMapping
    var found: [Change] = []

    init(_ mapping: ModelMapping) { self.mapping = mapping }

    var old: ObjectModel { mapping.old }
    var new: ObjectModel { mapping.new }

    mutating func changes() -> [Change] {
        for entity in new.entities {
            guard let source = mapping.source(of: entity).entity else {
                note(.entityAdded, entity.name, inference: .inferred)
                checkParent(entity)
                continue
            }
            compare(entity, source)
            compareAttributes(entity, source)
            compareRelationships(entity, source)
        }
        for entity in mapping.removedEntities { note(.entityRemoved, entity.name, inference: .inferred) }
        if old.declaration.info != new.declaration.info {
            note(.informationChanged, "the model", inference: .unneeded)
        }
        return found
    }

    /// Notes a change once: an inherited property is met in each of its entities.
    mutating func note(
        _ kind: Kind, _ entity: String, _ property: String? = nil, old: String? = nil, new: String? = nil,
        inference: Inference
    ) {
        let change = Change(kind: kind, entity: entity, property: property, old: old, new: new, inference: inference)
        if !found.contains(change) { found.append(change) }
    }

    // MARK: Entities

    private mutating func compare(_ entity: Entity, _ source: Entity) {
        if entity.name != source.name {
            note(.entityRenamed, entity.name, old: source.name, new: entity.name, inference: .inferred)
        }
        checkParent(entity)
        if entity.isAbstract != source.isAbstract {
            let inference: Inference =
                entity.isAbstract ? .checked("there may be no objects of \(source.name) itself") : .inferred
            note(
                .abstractChanged, entity.name, old: source.isAbstract ? "abstract" : "concrete",
                new: entity.isAbstract ? "abstract" : "concrete", inference: inference)
        }
        compareIdentity(entity, source)
        compareUniqueness(entity, source)
        let indexes = (Self.sorted(source.indexes), Self.sorted(entity.indexes))
        if indexes.0 != indexes.1 {
            note(
                .indexesChanged, entity.name, old: Self.list(indexes.0), new: Self.list(indexes.1),
                inference: .inferred)
        }
        compare(.hashModifierChanged, entity, nil, source.hashModifier, entity.hashModifier, .inferred)
        compare(.mergePolicyChanged, entity, nil, source.mergePolicy, entity.mergePolicy, .unneeded)
        if entity.info != source.info || entity.className != source.className {
            note(.informationChanged, entity.name, inference: .unneeded)
        }
    }

    mutating func compare(
        _ kind: Kind, _ entity: Entity, _ property: String?, _ old: String?, _ new: String?, _ inference: Inference
    ) {
        if old != new {
            note(kind, entity.name, property, old: old ?? "none", new: new ?? "none", inference: inference)
        }
    }

    /// Compares the entity that declares a property with the one that declared it.
    mutating func compareHome(_ kind: Kind, _ declaring: Entity, _ property: String, _ before: Entity) {
        if mapping.target(of: before)?.index == declaring.index { return }
        note(kind, declaring.name, property, old: before.name, new: declaring.name, inference: .inferred)
    }

    private static func sorted(_ indexes: [EntityIndex]) -> [String] { indexes.map(\.text).sorted() }

    private static func list(_ texts: [String]) -> String {
        texts.isEmpty ? "none" : texts.map { "[\($0)]" }.joined(separator: " ")
    }

    /// An entity may come above, below or out of others; two hierarchies that had each its own keys may not become one.
    private mutating func checkParent(_ entity: Entity) {
        let source = mapping.source(of: entity).entity
        let before = source?.parentIndex.map { old.entities[$0] }
        let now = entity.parentIndex.map { new.entities[$0] }
        let root = new.root(of: entity)
        let sourceRoots = Set(
            new.entities.filter { $0.rootIndex == root.index }
                .compactMap { mapping.source(of: $0).entity?.rootIndex })
        if let source, let now, sourceRoots.count > 1 {
            let names = sourceRoots.map { old.entities[$0].name }.sorted().joined(separator: " and ")
            note(
                .parentChanged, entity.name, old: before?.name ?? "none", new: now.name,
                inference: .refused("\(names) have no common parent in the old model, so their keys overlap"))
            _ = source
        } else if let source {
            let isSame =
                before.flatMap { mapping.target(of: $0)?.index } == now?.index && (before == nil) == (now == nil)
            if isSame { return }
            let leaves = source.rootIndex != source.index && root.index == entity.index
            note(
                .parentChanged, entity.name, old: before?.name ?? "none", new: now?.name ?? "none",
                inference: leaves ? .checked("nothing may refer to its objects as \(before?.name ?? "")") : .inferred)
        }
    }

    private mutating func compareIdentity(_ entity: Entity, _ source: Entity) {
        // The root's change is the hierarchy's.
        guard entity.parentIndex == nil else { return }
        let identity = entity.identity
        if mapping.source(of: entity).attributes[identity.name]?.name != source.identity.name {
            let inference: Inference =
                identity.name == HiddenIdentity.name
                ? .inferred : .checked("each object needs a value of its own")
            note(
                .identityChanged, entity.name, old: source.identity.name, new: identity.name, inference: inference)
        }
        let before = source.versionSlot.map { source.attributes[$0].name }
        let now = entity.versionSlot.map { entity.attributes[$0].name }
        if now.flatMap({ mapping.source(of: entity).attributes[$0]?.name }) != before || (now == nil) != (before == nil)
        {
            note(.versionChanged, entity.name, old: before ?? "none", new: now ?? "none", inference: .inferred)
        }
    }

    private mutating func compareUniqueness(_ entity: Entity, _ source: Entity) {
        let attributes = mapping.source(of: entity).attributes.mapValues(\.name)
        let relationships = mapping.source(of: entity).relationships.mapValues(\.name)
        let kept = entity.uniquenessConstraints.map { constraint in
            constraint.properties.map { attributes[$0] ?? relationships[$0] ?? "+\($0)" }
        }
        let before = source.uniquenessConstraints.map(\.properties)
        for (constraint, names) in zip(entity.uniquenessConstraints, kept)
        where constraint.entityIndex == entity.index && !before.contains(names) {
            note(
                .uniquenessAdded, entity.name, new: constraint.properties.joined(separator: ", "),
                inference: .checked("no two objects may share the values"))
        }
        for constraint in source.ownUniquenessConstraints where !kept.contains(constraint.properties) {
            note(
                .uniquenessRemoved, entity.name, old: constraint.properties.joined(separator: ", "),
                inference: .inferred)
        }
    }
}
