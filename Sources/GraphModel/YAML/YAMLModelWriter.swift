/// Writes a declaration as a model file in YAML: the same text for the same declaration.
///
/// Reading the text again gives the same declaration, lines and notes aside. Defaults are left out.
struct YAMLModelWriter {
    private let model: ModelDeclaration

    init(_ model: ModelDeclaration) { self.model = model }

    var text: String {
        var lines = ["model: \(YAMLText.scalar(model.name))", "version: \(YAMLText.quoted(model.version))"]
        lines += info(model.info).map { "\($0.0): \($0.1)" }
        lines.append("entities:")
        for entity in model.entities { lines += self.lines(entity) }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Entities

    private func lines(_ entity: EntityDeclaration) -> [String] {
        var lines = fields(entity).map { "    \($0.0): \($0.1)" }
        lines += block("attributes", entity.attributes.map { ($0.name, fields($0)) })
        lines += block("relationships", entity.relationships.map { ($0.name, fields($0)) })
        if !entity.indexes.isEmpty {
            lines.append("    indexes:")
            lines += entity.indexes.map { "      - \(text($0))" }
        }
        let name = "  \(YAMLText.scalar(entity.name)):"
        return lines.isEmpty ? [name + " {}"] : [name] + lines
    }

    private func block(_ name: String, _ properties: [(name: String, fields: [(String, String)])]) -> [String] {
        if properties.isEmpty { return [] }
        return ["    \(name):"]
            + properties.map { "      \(YAMLText.scalar($0.name)): \(Self.flow($0.fields))" }
    }

    private func fields(_ entity: EntityDeclaration) -> [(String, String)] {
        var fields: [(String, String)] = []
        fields += text("parent", entity.parent?.content)
        if entity.isAbstract { fields.append(("abstract", "true")) }
        fields += text("identity", entity.identity?.content)
        fields += text("version", entity.version?.content)
        if !entity.uniqueness.isEmpty {
            fields.append(("unique", Self.list(entity.uniqueness.map { Self.list($0.content.map(YAMLText.scalar)) })))
        }
        fields += text("mergePolicy", entity.mergePolicy?.content)
        fields += text("renamedFrom", entity.renamedFrom?.content)
        fields += text("hashModifier", entity.hashModifier)
        fields += text("class", entity.className)
        fields += info(entity.info)
        return fields
    }

    private func text(_ index: IndexDeclaration) -> String {
        let names = index.elements.map(plainName)
        if index.name == nil, index.predicate == nil, !names.contains(nil) {
            return Self.list(names.compactMap { $0 }.map(YAMLText.scalar))
        }
        let elements = index.elements.map { element in
            plainName(element).map(YAMLText.scalar) ?? Self.flow(fields(element))
        }
        return Self.flow(
            text("name", index.name) + [("on", Self.list(elements))] + text("where", index.predicate?.content))
    }

    private func plainName(_ element: IndexDeclaration.Element) -> String? {
        guard case .property(let name) = element.content, !element.isDescending else { return nil }
        return name
    }

    private func fields(_ element: IndexDeclaration.Element) -> [(String, String)] {
        var fields: [(String, String)]
        switch element.content {
        case .property(let name): fields = [("property", YAMLText.scalar(name))]
        case .expression(let text): fields = [("expression", YAMLText.scalar(text))]
        }
        if element.isDescending { fields.append(("descending", "true")) }
        return fields
    }

    // MARK: Properties

    private func fields(_ attribute: AttributeDeclaration) -> [(String, String)] {
        var fields = [("type", attribute.type.rawValue)]
        fields += flags([
            ("optional", attribute.isOptional), ("transient", attribute.isTransient), ("unique", attribute.isUnique),
            ("indexed", attribute.isIndexed), ("preserveAfterDeletion", attribute.isPreservedAfterDeletion),
        ])
        fields += text("default", attribute.defaultText?.content)
        fields += text("min", attribute.minimumText?.content)
        fields += text("max", attribute.maximumText?.content)
        fields += number("minLength", attribute.minimumLength)
        fields += number("maxLength", attribute.maximumLength)
        fields += text("pattern", attribute.pattern?.content)
        fields += text("derived", attribute.derived?.content)
        fields += text("renamedFrom", attribute.renamedFrom?.content)
        fields += text("hashModifier", attribute.hashModifier)
        return fields + info(attribute.info)
    }

    private func fields(_ relationship: RelationshipDeclaration) -> [(String, String)] {
        var fields = [("to", YAMLText.scalar(relationship.destination.content))]
        fields += flags([("many", relationship.isToMany), ("ordered", relationship.isOrdered)])
        fields.append(("inverse", YAMLText.scalar(relationship.inverse?.content ?? "none")))
        fields.append(("delete", relationship.deleteRule.rawValue))
        // A to-many relationship is optional unless it says otherwise, a to-one required.
        if relationship.isOptional != relationship.isToMany {
            fields.append(("optional", "\(relationship.isOptional)"))
        }
        fields += flags([("transient", relationship.isTransient)])
        if relationship.minimumCount > 0 { fields += number("minCount", relationship.minimumCount) }
        fields += number("maxCount", relationship.maximumCount)
        if relationship.onMissing != .placeholder { fields.append(("onMissing", relationship.onMissing.rawValue)) }
        fields += text("renamedFrom", relationship.renamedFrom?.content)
        fields += text("hashModifier", relationship.hashModifier)
        return fields + info(relationship.info)
    }

    // MARK: Values

    private func text(_ key: String, _ value: String?) -> [(String, String)] {
        value.map { [(key, YAMLText.scalar($0))] } ?? []
    }

    private func number(_ key: String, _ value: Int?) -> [(String, String)] {
        value.map { [(key, "\($0)")] } ?? []
    }

    private func flags(_ flags: [(String, Bool)]) -> [(String, String)] {
        flags.filter(\.1).map { ($0.0, "true") }
    }

    private func info(_ info: [String: String]) -> [(String, String)] {
        if info.isEmpty { return [] }
        let fields = info.sorted { $0.key < $1.key }.map { (YAMLText.scalar($0.key), YAMLText.scalar($0.value)) }
        return [("info", Self.flow(fields))]
    }

    private static func flow(_ fields: [(String, String)]) -> String {
        fields.isEmpty ? "{}" : "{ " + fields.map { "\($0.0): \($0.1)" }.joined(separator: ", ") + " }"
    }

    private static func list(_ elements: [String]) -> String { "[" + elements.joined(separator: ", ") + "]" }
}
