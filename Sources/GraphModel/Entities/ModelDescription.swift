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

    /// Appends the model as one JSON object.
    public func appendJSON(to output: inout String) {
        let counts = model.counts
        let rules = DeleteRule.allCases.map { "\"\($0.rawValue)\":\(counts.deleteRules[$0] ?? 0)" }.joined(
            separator: ",")
        output += "{\"model\":\(JSONText.string(model.name)),\"version\":\(JSONText.string(model.version)),"
        output += "\"hash\":\(JSONText.string(model.hash)),\"counts\":{\"entities\":\(counts.entities),"
        output +=
            "\"attributes\":\(counts.attributes),\"relationships\":\(counts.relationships),\(rules)},\"entities\":["
        output += model.entities.map(json).joined(separator: ",")
        output += "]}"
    }

    private func json(_ entity: Entity) -> String {
        let version = entity.versionSlot.map { entity.attributes[$0].name }
        let attributes =
            entity.ownAttributes + entity.transientAttributes.filter { $0.entityIndex == entity.index }
        var fields = [("name", JSONText.string(entity.name))]
        if let parent = entity.parentIndex { fields.append(("parent", JSONText.string(model.entities[parent].name))) }
        if entity.isAbstract { fields.append(("abstract", "true")) }
        fields += [
            ("identity", JSONText.string(entity.identity.name)), ("version", version.map(JSONText.string) ?? "null"),
            ("attributes", "[\(attributes.map { json($0, entity) }.joined(separator: ","))]"),
            ("relationships", "[\(entity.ownRelationships.map(json).joined(separator: ","))]"),
        ]
        let constraints = entity.ownUniquenessConstraints.filter { $0.properties.count > 1 }
        if !constraints.isEmpty {
            fields.append(("unique", "[\(constraints.map { list($0.properties) }.joined(separator: ","))]"))
        }
        fields.append(("indexes", "[\(entity.indexes.map(json).joined(separator: ","))]"))
        return object(fields)
    }

    private func list(_ names: [String]) -> String { "[\(names.map(JSONText.string).joined(separator: ","))]" }

    /// A mere list of properties is a list; what is more is an object.
    private func json(_ index: EntityIndex) -> String {
        if index.isPlain { return list(index.properties) }
        let elements = index.elements.map { element in
            var fields = [("property", JSONText.string(element.property))]
            if let function = element.function { fields.append(("function", JSONText.string(function.rawValue))) }
            if element.isDescending { fields.append(("descending", "true")) }
            return object(fields)
        }
        var fields = [("on", "[\(elements.joined(separator: ","))]")]
        if let name = index.name { fields.insert(("name", JSONText.string(name)), at: 0) }
        if let predicate = index.predicate { fields.append(("where", JSONText.string(predicate))) }
        return object(fields)
    }

    private func json(_ attribute: Attribute, _ entity: Entity) -> String {
        let limits = attribute.constraints
        var fields = [
            ("name", JSONText.string(attribute.name)), ("type", JSONText.string(attribute.type.rawValue)),
            ("optional", "\(attribute.isOptional)"),
        ]
        for (name, value) in [
            ("default", attribute.defaultValue), ("min", limits.minimum), ("max", limits.maximum),
        ] where !value.isNull {
            var text = ""
            attribute.type.appendJSON(value, to: &text)
            fields.append((name, text))
        }
        if let length = limits.minimumLength { fields.append(("minLength", "\(length)")) }
        if let length = limits.maximumLength { fields.append(("maxLength", "\(length)")) }
        if let pattern = limits.pattern { fields.append(("pattern", JSONText.string(pattern.source))) }
        if let derivation = attribute.derivation {
            fields.append(("derived", JSONText.string(derivation.text(in: entity, model))))
        }
        fields += [
            ("unique", "\(attribute.isUnique)"), ("indexed", "\(attribute.isIndexed)"),
            ("preserveAfterDeletion", "\(attribute.isPreservedAfterDeletion)"),
        ]
        if attribute.isTransient { fields.append(("transient", "true")) }
        return object(fields)
    }

    private func json(_ relationship: Relationship) -> String {
        var fields = [
            ("name", JSONText.string(relationship.name)),
            ("to", JSONText.string(model.entities[relationship.destinationIndex].name)),
            ("many", "\(relationship.isToMany)"), ("optional", "\(relationship.isOptional)"),
            ("inverse", inverseName(relationship).map(JSONText.string) ?? "null"),
            ("delete", JSONText.string(relationship.deleteRule.rawValue)),
            ("onMissing", JSONText.string(relationship.onMissing.rawValue)),
        ]
        if relationship.isOrdered { fields.append(("ordered", "true")) }
        if relationship.minimumCount > 0 { fields.append(("minCount", "\(relationship.minimumCount)")) }
        if let maximum = relationship.maximumCount { fields.append(("maxCount", "\(maximum)")) }
        return object(fields)
    }

    private func object(_ fields: [(String, String)]) -> String {
        "{\(fields.map { "\(JSONText.string($0.0)):\($0.1)" }.joined(separator: ","))}"
    }
}
