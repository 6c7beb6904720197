@testable import GraphModel

/// Writes a model as Xcode does, with the settings that Xcode leaves behind where a property was another one once: limits
/// of other types, booleans in a number's place, counts of to-one relationships, attributes without meaning here.
///
/// None of them changes what the model means, so reading the XML gives the declaration that was written.
struct XcodeModelWriter {
    private let model: ModelDeclaration
    private var random: SeededGenerator

    static func xml(_ model: ModelDeclaration, seed: UInt64) -> String {
        var writer = XcodeModelWriter(model: model, random: SeededGenerator(seed: seed ^ 0x786d_6c))
        return writer.text()
    }

    private typealias Field = (name: String, value: String)

    private mutating func text() -> String {
        var lines: [String] = []
        for entity in model.entities {
            lines.append(Self.tag("entity", fields(entity), isOpen: true))
            for attribute in entity.attributes {
                lines.append(Self.tag("attribute", fields(attribute).shuffled(using: &random)))
            }
            for relationship in entity.relationships { lines += element(relationship, of: entity) }
            lines += constraints(entity)
            lines += userInfo([("identity", entity.identity?.content), ("version", entity.version?.content)])
            if random.chance(10) { lines.append("<unknownElement name=\"x\"/>") }
            lines.append("</entity>")
        }
        if random.chance(30) { lines.append("<elements><element name=\"E\" positionX=\"0\"/></elements>") }
        if random.chance(20) { lines.append("<configuration name=\"Cloud\"/>") }
        return CoreDataModels.xml(lines.joined(separator: "\n"))
    }

    // MARK: Entities

    private mutating func fields(_ entity: EntityDeclaration) -> [Field] {
        var fields: [Field] = [("name", entity.name)]
        if let parent = entity.parent { fields.append(("parentEntity", parent.content)) }
        if entity.isAbstract { fields.append(("isAbstract", spelled(true))) }
        if random.chance(50) { fields.append(("syncable", "YES")) }
        if random.chance(30) { fields.append(("codeGenerationType", "class")) }
        if random.chance(20) { fields.append(("elementID", "")) }
        return fields
    }

    /// Constraints, and now and then some over what has no column, or that name nothing.
    private mutating func constraints(_ entity: EntityDeclaration) -> [String] {
        var lists = entity.uniqueness.map { list in
            list.content.map { "<constraint value=\"\($0)\"/>" }.joined()
        }
        if random.chance(20), let many = entity.relationships.first(where: \.isToMany) {
            lists.append("<constraint value=\"\(many.name)\"/>")
        }
        if random.chance(10) { lists.append("<constraint/>") }
        if lists.isEmpty { return [] }
        return ["<uniquenessConstraints>"] + lists.map { "<uniquenessConstraint>\($0)</uniquenessConstraint>" }
            + ["</uniquenessConstraints>"]
    }

    private func userInfo(_ entries: [(key: String, value: String?)]) -> [String] {
        let lines = entries.compactMap { entry in
            entry.value.map { "<entry key=\"\(entry.key)\" value=\"\($0)\"/>" }
        }
        return lines.isEmpty ? [] : ["<userInfo>"] + lines + ["</userInfo>"]
    }

    // MARK: Attributes

    private static let types: [AttributeType: [String]] = [
        .integer16: ["Integer 16"], .integer32: ["Integer 32", "int32"], .integer64: ["Integer 64", "300"],
        .double: ["Double", "double"], .decimal: ["Decimal"], .boolean: ["Boolean", "Bool"], .date: ["Date", "900"],
        .string: ["String", "string"],
    ]

    private mutating func fields(_ attribute: AttributeDeclaration) -> [Field] {
        let type = Self.types[attribute.type]?.randomElement(using: &random) ?? attribute.type.rawValue
        var fields: [Field] = [("name", attribute.name), ("attributeType", type)]
        flag("optional", attribute.isOptional, &fields)
        flag("transient", attribute.isTransient, &fields)
        flag("indexed", attribute.isIndexed, &fields)
        flag("preserveAfterDeletion", attribute.isPreservedAfterDeletion, &fields)
        if let derived = attribute.derived {
            flag("derived", true, &fields)
            fields.append(("derivationExpression", derived.content))
        } else if random.chance(15) {
            fields.append(("derivationExpression", "now()"))
        }
        for (key, text) in [
            ("defaultValueString", attribute.defaultText), ("minValueString", attribute.minimumText),
            ("maxValueString", attribute.maximumText),
        ] {
            if let text { fields.append((key, number(text.content))) }
        }
        if let length = attribute.maximumLength { fields.append(("maxValueString", "\(length)")) }
        return fields + leftovers(attribute, known: Set(fields.map(\.name)))
    }

    /// Other spellings of a number that Xcode leaves: 1 is YES where it was a boolean.
    private mutating func number(_ text: String) -> String {
        if text == "1", random.chance(50) { return "YES" }
        return random.chance(30) ? text + ".0" : text
    }

    /// What another type had a use for.
    private mutating func leftovers(_ attribute: AttributeDeclaration, known: Set<String>) -> [Field] {
        var fields: [Field] = []
        func add(_ name: String, _ value: String, _ percent: Int) {
            if known.contains(name) || fields.contains(where: { $0.name == name }) { return }
            if random.chance(percent) { fields.append((name, value)) }
        }
        if attribute.type != .date {
            add("minDateTimeInterval", "0", 15)
            add("defaultDateTimeInterval", "86400", 10)
        } else {
            add("minValueString", "1", 20)
            add("defaultValueString", "now", 20)
        }
        if attribute.type != .string { add("regularExpressionString", "[0-9]+", 20) }
        if attribute.type == .boolean { add("maxValueString", "1", 20) }
        if attribute.type != .string { add("defaultValueString", "", 20) }
        if attribute.derived != nil { add("defaultValueString", attribute.type == .string ? "x" : "0", 30) }
        add("usesScalarValueType", "YES", 40)
        add("syncable", "YES", 30)
        add("spotlightIndexingEnabled", "YES", 10)
        return fields
    }

    // MARK: Relationships

    private static let rules: [DeleteRule: [String]] = [
        .nullify: ["Nullify", "nullify"], .cascade: ["Cascade", "cascade"], .deny: ["Deny"],
        .noAction: ["No Action", "no action", "NoAction"],
    ]

    private mutating func element(_ relationship: RelationshipDeclaration, of entity: EntityDeclaration) -> [String] {
        var fields: [Field] = [("name", relationship.name)]
        flag("optional", relationship.isOptional, &fields)
        fields.append(("destinationEntity", relationship.destination.content))
        if relationship.deleteRule != .nullify || random.chance(50) {
            fields.append(("deletionRule", Self.rules[relationship.deleteRule]?.randomElement(using: &random) ?? ""))
        }
        if let inverse = relationship.inverse {
            fields.append(("inverseName", inverse.content))
            let owner = random.chance(90) ? relationship.destination.content : entity.name
            fields.append(("inverseEntity", owner))
        }
        if relationship.isToMany {
            flag("toMany", true, &fields)
            flag("ordered", relationship.isOrdered, &fields)
            if relationship.minimumCount > 0 { fields.append(("minCount", "\(relationship.minimumCount)")) }
            if let maximum = relationship.maximumCount { fields.append(("maxCount", "\(maximum).0")) }
        } else {
            if random.chance(70) { fields.append(("maxCount", "1")) }
            if random.chance(20) { fields.append(("minCount", "3")) }
            if random.chance(20) { fields.append(("ordered", "YES")) }
        }
        if random.chance(40) { fields.append(("syncable", "YES")) }
        fields.shuffle(using: &random)
        if relationship.onMissing == .placeholder { return [Self.tag("relationship", fields)] }
        return [Self.tag("relationship", fields, isOpen: true)]
            + userInfo([("onMissing", relationship.onMissing.rawValue)]) + ["</relationship>"]
    }

    // MARK: XML

    /// An absent flag means NO.
    private mutating func flag(_ name: String, _ value: Bool, _ fields: inout [Field]) {
        if value || random.chance(20) { fields.append((name, spelled(value))) }
    }

    private mutating func spelled(_ value: Bool) -> String {
        random.chance(85) ? (value ? "YES" : "NO") : (value ? "true" : "0")
    }

    private static func tag(_ name: String, _ fields: [Field], isOpen: Bool = false) -> String {
        let text = fields.map { " \($0.name)=\"\(escaped($0.value))\"" }.joined()
        return "<\(name)\(text)\(isOpen ? "" : "/")>"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}
