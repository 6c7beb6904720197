import Yams

// Attributes and relationships.
extension YAMLModelReader {
    private static let attributeKeys: Set = [
        "type", "optional", "default", "min", "max", "minLength", "maxLength", "pattern", "derived", "unique",
        "indexed", "preserveAfterDeletion", "transient", "renamedFrom", "hashModifier", "info",
    ]
    private static let relationshipKeys: Set = [
        "to", "many", "inverse", "delete", "optional", "minCount", "maxCount", "onMissing", "ordered", "transient",
        "renamedFrom", "hashModifier", "info",
    ]

    mutating func readAttribute(
        name: String, _ node: Located<Node>, entity: String
    ) -> AttributeDeclaration {
        let label = "attribute \(entity).\(name)"
        var attribute = AttributeDeclaration(name: name, line: node.line)
        attribute.isUnclear = true
        guard let fields = mapping(node.content, label, allowed: Self.attributeKeys, line: node.line) else {
            return attribute
        }
        guard let typeNode = fields["type"], let typeName = typeNode.string else {
            report(node.line, "The \(label) has no type", "Give it one of: \(typeNames)")
            return attribute
        }
        guard let type = AttributeType(rawValue: typeName) else {
            report(line(typeNode), "'\(typeName)' is no attribute type", "Use one of: \(typeNames)")
            return attribute
        }
        attribute.isUnclear = false
        attribute.type = type
        attribute.isOptional = boolean(fields["optional"], "optional") ?? false
        attribute.isUnique = boolean(fields["unique"], "unique") ?? false
        attribute.isIndexed = boolean(fields["indexed"], "indexed") ?? false
        attribute.isPreservedAfterDeletion = boolean(fields["preserveAfterDeletion"], "preserveAfterDeletion") ?? false
        attribute.defaultText = located(fields["default"], "default")
        attribute.minimumText = located(fields["min"], "min")
        attribute.maximumText = located(fields["max"], "max")
        attribute.minimumLength = count(fields["minLength"], "minLength")
        attribute.maximumLength = count(fields["maxLength"], "maxLength")
        attribute.pattern = located(fields["pattern"], "pattern")
        attribute.derived = located(fields["derived"], "derived")
        attribute.isTransient = boolean(fields["transient"], "transient") ?? false
        attribute.renamedFrom = located(fields["renamedFrom"], "renamedFrom")
        attribute.hashModifier = located(fields["hashModifier"], "hashModifier")?.content
        attribute.info = texts(fields["info"], "'info' of \(label)")
        return attribute
    }

    private var typeNames: String { AttributeType.allCases.map(\.rawValue).joined(separator: ", ") }

    mutating func readRelationship(
        name: String, _ node: Located<Node>, entity: String
    ) -> RelationshipDeclaration {
        let label = "relationship \(entity).\(name)"
        var relationship = RelationshipDeclaration(
            name: name, line: node.line, destination: Located(content: "", line: node.line))
        relationship.isUnclear = true
        guard let fields = mapping(node.content, label, allowed: Self.relationshipKeys, line: node.line) else {
            return relationship
        }
        guard let destination = located(fields["to"], "to") else {
            report(node.line, "The \(label) has no destination", "Name the entity it leads to with 'to:'")
            return relationship
        }
        relationship.isUnclear = false
        relationship.destination = destination
        relationship.inverse = located(fields["inverse"], "inverse")
        if relationship.inverse == nil {
            relationship.isUnclear = true
            report(
                node.line, "The \(label) has no inverse",
                "Name the way back with 'inverse:', or write 'inverse: none' where there is none")
        } else if relationship.inverse?.content == "none" {
            relationship.inverse = nil
        }
        relationship.isToMany = boolean(fields["many"], "many") ?? false
        relationship.isOptional = boolean(fields["optional"], "optional") ?? relationship.isToMany
        relationship.deleteRule = choice(fields["delete"], "delete") ?? .nullify
        relationship.onMissing = choice(fields["onMissing"], "onMissing") ?? .placeholder
        relationship.minimumCount = count(fields["minCount"], "minCount") ?? 0
        relationship.maximumCount = count(fields["maxCount"], "maxCount")
        relationship.isOrdered = boolean(fields["ordered"], "ordered") ?? false
        relationship.isTransient = boolean(fields["transient"], "transient") ?? false
        relationship.renamedFrom = located(fields["renamedFrom"], "renamedFrom")
        relationship.hashModifier = located(fields["hashModifier"], "hashModifier")?.content
        relationship.info = texts(fields["info"], "'info' of \(label)")
        if !relationship.isToMany { refuseCounts(label, fields, relationship) }
        return relationship
    }

    /// Reports the settings that only a relationship to many objects has.
    private mutating func refuseCounts(
        _ label: String, _ fields: [String: Node], _ relationship: RelationshipDeclaration
    ) {
        if fields["minCount"] != nil || fields["maxCount"] != nil {
            report(
                relationship.line, "The \(label) leads to one object and has a count", "Remove minCount and maxCount")
        }
        if relationship.isOrdered {
            report(relationship.line, "The \(label) leads to one object and is ordered", "Remove 'ordered'")
        }
    }
}
