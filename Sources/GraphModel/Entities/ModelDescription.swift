/// Describes a model, for people and for scripts; equal models give equal texts.
public struct ModelDescription {
    private let model: ObjectModel

    /// Makes the description of a model.
    public init(_ model: ObjectModel) { self.model = model }

    // MARK: Text

    /// The model in lines: what it counts, then each entity with its properties.
    public var text: String {
        let counts = model.counts
        let rules = DeleteRule.allCases.map { "\(counts.deleteRules[$0] ?? 0) \($0.rawValue)" }.joined(separator: ", ")
        var lines = [
            "model \(model.name), version \(model.version), hash \(model.hash)",
            "\(counted(counts.entities, "entity")), \(counted(counts.attributes, "attribute")), \(counted(counts.relationships, "relationship")) (\(rules))",
        ]
        for entity in model.entities { lines += ["", heading(entity)] + properties(entity) + indexes(entity) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func heading(_ entity: Entity) -> String {
        let version = entity.versionSlot.map { ", version \(entity.attributes[$0].name)" } ?? ""
        let parent = entity.parentIndex.map { " of \(model.entities[$0].name)" } ?? ""
        let kind = entity.isAbstract ? "abstract, " : ""
        return "\(entity.name)\(parent): \(kind)identity \(entity.identity.name)\(version)"
    }

    private func properties(_ entity: Entity) -> [String] {
        let rows =
            (entity.ownAttributes + entity.transientAttributes.filter { $0.entityIndex == entity.index })
            .map { ($0.name, $0.type.rawValue, options($0, entity)) }
            + entity.ownRelationships.map { ($0.name, destination($0), options($0)) }
        let nameWidth = rows.map(\.0.count).max() ?? 0
        let typeWidth = rows.map(\.1.count).max() ?? 0
        return rows.map { name, type, options in
            let type = options.isEmpty ? type : padded(type, typeWidth)
            return "  \(padded(name, nameWidth))  \(type)"
                + (options.isEmpty ? "" : "  " + options.joined(separator: ", "))
        }
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private func options(_ attribute: Attribute, _ entity: Entity) -> [String] {
        let limits = attribute.constraints
        var options: [String] = []
        if let derivation = attribute.derivation { options.append("derived: \(derivation.text(in: entity, model))") }
        if attribute.isOptional { options.append("optional") }
        if !attribute.defaultValue.isNull { options.append("default \(attribute.display(attribute.defaultValue))") }
        if !limits.minimum.isNull { options.append("min \(attribute.display(limits.minimum))") }
        if !limits.maximum.isNull { options.append("max \(attribute.display(limits.maximum))") }
        if let length = limits.minimumLength { options.append("minLength \(length)") }
        if let length = limits.maximumLength { options.append("maxLength \(length)") }
        if let pattern = limits.pattern { options.append("pattern \(pattern.source)") }
        if attribute.isUnique { options.append("unique") }
        if attribute.isIndexed { options.append("indexed") }
        if attribute.isPreservedAfterDeletion { options.append("preserved after deletion") }
        if attribute.isTransient { options.append("transient") }
        return options
    }

    private func destination(_ relationship: Relationship) -> String {
        (relationship.isToMany ? "→→ " : "→ ") + model.entities[relationship.destinationIndex].name
    }

    private func options(_ relationship: Relationship) -> [String] {
        var options = ["inverse \(inverseName(relationship) ?? "none")", "delete \(relationship.deleteRule.rawValue)"]
        if relationship.isOptional, !relationship.isToMany { options.append("optional") }
        if !relationship.isOptional, relationship.isToMany { options.append("required") }
        if relationship.isOrdered { options.append("ordered") }
        if relationship.minimumCount > 0 { options.append("minCount \(relationship.minimumCount)") }
        if let maximum = relationship.maximumCount { options.append("maxCount \(maximum)") }
        if relationship.onMissing == .reject { options.append("onMissing reject") }
        return options
    }

    private func inverseName(_ relationship: Relationship) -> String? {
        relationship.inverseIndex.map { model.entities[relationship.destinationIndex].relationships[$0].name }
    }

    private func indexes(_ entity: Entity) -> [String] {
        let constraints = entity.ownUniquenessConstraints.filter { $0.properties.count > 1 }
        return constraints.map { "  unique (\($0.properties.joined(separator: ", ")))" }
            + entity.indexes.map { index in
                "  index (\(index.isPlain ? index.properties.joined(separator: ", ") : index.text))"
            }
    }

    // MARK: JSON

    /// The model as one JSON object.
    public var json: String {
        let counts = model.counts
        var numbers = JSONObject([
            "entities": counts.entities, "attributes": counts.attributes, "relationships": counts.relationships,
        ])
        for rule in DeleteRule.allCases { numbers.add(rule.rawValue, counts.deleteRules[rule] ?? 0) }
        return JSONObject([
            "model": model.name, "version": model.version, "hash": model.hash, "counts": numbers,
            "entities": model.entities.map(object),
        ]).json
    }

    private func object(_ entity: Entity) -> JSONObject {
        var object = JSONObject(["name": entity.name])
        object.add("parent", entity.parentIndex.map { model.entities[$0].name })
        object.add("abstract", entity.isAbstract ? true : nil)
        object.add("identity", entity.identity.name)
        object.add("version", .some(entity.versionSlot.map { entity.attributes[$0].name }))
        let transients = entity.transientAttributes.filter { $0.entityIndex == entity.index }
        object.add("attributes", (entity.ownAttributes + transients).map { self.object($0, entity) })
        object.add("relationships", entity.ownRelationships.map(self.object))
        let constraints = entity.ownUniquenessConstraints.filter { $0.properties.count > 1 }
        object.add("unique", constraints.isEmpty ? nil : constraints.map(\.properties))
        object.add("indexes", entity.indexes.map { JSONFragment(json($0)) })
        return object
    }

    /// A mere list of properties is a list; what is more is an object.
    private func json(_ index: EntityIndex) -> String {
        if index.isPlain { return index.properties.json }
        var object = JSONObject()
        object.add("name", index.name)
        object.add(
            "on",
            index.elements.map { element in
                var object = JSONObject(["property": element.property])
                object.add("function", element.function?.rawValue)
                object.add("descending", element.isDescending ? true : nil)
                return object
            })
        object.add("where", index.predicate)
        return object.json
    }

    private func object(_ attribute: Attribute, _ entity: Entity) -> JSONObject {
        let limits = attribute.constraints
        var object = JSONObject([
            "name": attribute.name, "type": attribute.type.rawValue, "optional": attribute.isOptional,
        ])
        for (name, value) in [("default", attribute.defaultValue), ("min", limits.minimum), ("max", limits.maximum)] {
            object.add(name, value.isNull ? nil : attribute.type.json(value))
        }
        object.add("minLength", limits.minimumLength)
        object.add("maxLength", limits.maximumLength)
        object.add("pattern", limits.pattern?.source)
        object.add("derived", attribute.derivation?.text(in: entity, model))
        object.add("unique", attribute.isUnique)
        object.add("indexed", attribute.isIndexed)
        object.add("preserveAfterDeletion", attribute.isPreservedAfterDeletion)
        object.add("transient", attribute.isTransient ? true : nil)
        return object
    }

    private func object(_ relationship: Relationship) -> JSONObject {
        var object = JSONObject([
            "name": relationship.name, "to": model.entities[relationship.destinationIndex].name,
            "many": relationship.isToMany, "optional": relationship.isOptional, "inverse": inverseName(relationship),
            "delete": relationship.deleteRule.rawValue, "onMissing": relationship.onMissing.rawValue,
        ])
        object.add("ordered", relationship.isOrdered ? true : nil)
        object.add("minCount", relationship.minimumCount > 0 ? relationship.minimumCount : nil)
        object.add("maxCount", relationship.maximumCount)
        return object
    }
}
