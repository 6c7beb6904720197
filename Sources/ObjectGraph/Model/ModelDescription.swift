/// Describes a model, for people and for scripts; equal models give equal texts.
public struct ModelDescription {
    private let model: ObjectModel

    /// Makes the description of a model.
    public init(_ model: ObjectModel) { self.model = model }

    // MARK: Text

    /// The model in lines: what it counts, then each entity with its properties.
    public var text: String {
        let counts = model.counts
        let rules = ModelCounts.rules.map { "\(counts.deleteRules[$0] ?? 0) \($0.rawValue)" }.joined(separator: ", ")
        var lines = [
            "model \(model.name), version \(model.version), hash \(model.hash)",
            "\(counts.entities) entities, \(counts.attributes) attributes, \(counts.relationships) relationships (\(rules))",
        ]
        for entity in model.entities { lines += ["", heading(entity)] + properties(entity) + indexes(entity) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func heading(_ entity: Entity) -> String {
        let version = entity.versionSlot.map { ", version \(entity.attributes[$0].name)" } ?? ""
        return "\(entity.name): identity \(entity.identity.name)\(version)"
    }

    private func properties(_ entity: Entity) -> [String] {
        let rows =
            entity.attributes.map { ($0.name, $0.type.rawValue, options($0, entity)) }
            + entity.relationships.map { ($0.name, destination($0), options($0)) }
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
        return options
    }

    private func destination(_ relationship: Relationship) -> String {
        (relationship.isToMany ? "→→ " : "→ ") + model.entities[relationship.destinationIndex].name
    }

    private func options(_ relationship: Relationship) -> [String] {
        var options = ["inverse \(inverseName(relationship) ?? "none")", "delete \(relationship.deleteRule.rawValue)"]
        if relationship.isOptional, !relationship.isToMany { options.append("optional") }
        if !relationship.isOptional, relationship.isToMany { options.append("required") }
        if relationship.minimumCount > 0 { options.append("minCount \(relationship.minimumCount)") }
        if let maximum = relationship.maximumCount { options.append("maxCount \(maximum)") }
        if relationship.onMissing == .reject { options.append("onMissing reject") }
        return options
    }

    private func inverseName(_ relationship: Relationship) -> String? {
        relationship.inverseIndex.map { model.entities[relationship.destinationIndex].relationships[$0].name }
    }

    private func indexes(_ entity: Entity) -> [String] {
        entity.indexes.map { "  index (\($0.joined(separator: ", ")))" }
    }

    // MARK: JSON

    /// Appends the model as one JSON object.
    public func appendJSON(to output: inout String) {
        let counts = model.counts
        let rules = ModelCounts.rules.map { "\"\($0.rawValue)\":\(counts.deleteRules[$0] ?? 0)" }.joined(separator: ",")
        output += "{\"model\":\(JSONText.string(model.name)),\"version\":\(JSONText.string(model.version)),"
        output += "\"hash\":\(JSONText.string(model.hash)),\"counts\":{\"entities\":\(counts.entities),"
        output +=
            "\"attributes\":\(counts.attributes),\"relationships\":\(counts.relationships),\(rules)},\"entities\":["
        output += model.entities.map(json).joined(separator: ",")
        output += "]}"
    }

    private func json(_ entity: Entity) -> String {
        let version = entity.versionSlot.map { entity.attributes[$0].name }
        let indexes = entity.indexes.map { "[\($0.map(JSONText.string).joined(separator: ","))]" }
        return object([
            ("name", JSONText.string(entity.name)), ("identity", JSONText.string(entity.identity.name)),
            ("version", version.map(JSONText.string) ?? "null"),
            ("attributes", "[\(entity.attributes.map { json($0, entity) }.joined(separator: ","))]"),
            ("relationships", "[\(entity.relationships.map(json).joined(separator: ","))]"),
            ("indexes", "[\(indexes.joined(separator: ","))]"),
        ])
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
        if relationship.minimumCount > 0 { fields.append(("minCount", "\(relationship.minimumCount)")) }
        if let maximum = relationship.maximumCount { fields.append(("maxCount", "\(maximum)")) }
        return object(fields)
    }

    private func object(_ fields: [(String, String)]) -> String {
        "{\(fields.map { "\(JSONText.string($0.0)):\($0.1)" }.joined(separator: ","))}"
    }
}
