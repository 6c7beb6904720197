import Foundation
import Yams

/// Reads a model file in YAML into a declaration, noting every mistake with its line.
struct YAMLModelReader {
    private let file: String
    private(set) var problems: [ModelError.Problem] = []

    init(file: String) { self.file = file }

    mutating func read(_ text: String) -> ModelDeclaration {
        var model = ModelDeclaration()
        guard let root = compose(text) else { return model }
        let keys: Set = ["model", "version", "entities"]
        guard let fields = mapping(root, "the model", allowed: keys) else { return model }
        if let name = fields["model"] { model.name = string(name, "model") ?? model.name }
        if let version = fields["version"] { model.version = string(version, "version") ?? model.version }
        guard let entities = fields["entities"] else {
            report(nil, "There are no entities", "Declare at least one under 'entities:'")
            return model
        }
        for (key, node) in pairs(entities, "'entities'") {
            if let entity = readEntity(name: key, node) { model.entities.append(entity) }
        }
        return model
    }

    mutating func report(_ line: Int?, _ message: String, _ remedy: String) {
        problems.append(ModelError.Problem(file: file, line: line, message: message, remedy: remedy))
    }

    private mutating func compose(_ text: String) -> Node? {
        do {
            if let node = try Yams.compose(yaml: text) { return node }
            report(nil, "The file is empty", "Write a model; docs/model.md shows one")
        } catch let error as YamlError {
            report(line(of: error), "This is not YAML: \(summary(of: error))", "Mend the syntax at that line")
        } catch {
            report(nil, "This is not YAML", "Mend the syntax")
        }
        return nil
    }

    private func line(of error: YamlError) -> Int? {
        switch error {
        case .scanner(_, _, let mark, _), .parser(_, _, let mark, _), .composer(_, _, let mark, _): mark.line
        case .duplicatedKeysInMapping(_, let context): context.mark.line
        default: nil
        }
    }

    private func summary(of error: YamlError) -> String {
        switch error {
        case .scanner(_, let problem, _, _), .parser(_, let problem, _, _), .composer(_, let problem, _, _): problem
        case .duplicatedKeysInMapping(let keys, _):
            "a key stands twice: \(keys.map { "\($0)" }.sorted().joined(separator: ", "))"
        default: "it cannot be read"
        }
    }
}

// MARK: - Entities

extension YAMLModelReader {
    private static let entityKeys: Set = ["identity", "version", "attributes", "relationships", "indexes"]

    private mutating func readEntity(name: String, _ node: Located<Node>) -> EntityDeclaration? {
        guard let fields = mapping(node.content, "entity \(name)", allowed: Self.entityKeys, line: node.line) else {
            return nil
        }
        var entity = EntityDeclaration(name: name, line: node.line)
        entity.identity = located(fields["identity"], "identity")
        entity.version = located(fields["version"], "version")
        for (key, node) in pairs(fields["attributes"], "'attributes' of \(name)") {
            if let attribute = readAttribute(name: key, node, entity: name) { entity.attributes.append(attribute) }
        }
        for (key, node) in pairs(fields["relationships"], "'relationships' of \(name)") {
            if let relationship = readRelationship(name: key, node, entity: name) {
                entity.relationships.append(relationship)
            }
        }
        if let indexes = fields["indexes"] { entity.indexes = readIndexes(indexes, entity: name) }
        return entity
    }

    private mutating func readIndexes(_ node: Node, entity: String) -> [Located<[String]>] {
        guard let list = node.sequence else {
            report(line(node), "The indexes of \(entity) are no list", "Write them as [[first, second], [third]]")
            return []
        }
        return list.compactMap { element in
            let names = element.sequence?.compactMap(\.string)
            guard let names, !names.isEmpty, names.count == element.sequence?.count else {
                report(line(element), "An index of \(entity) is no list of names", "Write it as [first, second]")
                return nil
            }
            return Located(content: names, line: line(element))
        }
    }
}

// MARK: - Properties

extension YAMLModelReader {
    private static let attributeKeys: Set = [
        "type", "optional", "default", "min", "max", "minLength", "maxLength", "pattern", "derived", "unique",
        "indexed", "preserveAfterDeletion",
    ]
    private static let relationshipKeys: Set = [
        "to", "many", "inverse", "delete", "optional", "minCount", "maxCount", "onMissing",
    ]
    /// Options that the contract names and this version does not serve yet.
    private static let laterKeys: Set = ["transient", "ordered", "renamedFrom"]

    private mutating func readAttribute(
        name: String, _ node: Located<Node>, entity: String
    ) -> AttributeDeclaration? {
        let label = "attribute \(entity).\(name)"
        guard let fields = mapping(node.content, label, allowed: Self.attributeKeys, line: node.line) else {
            return nil
        }
        var attribute = AttributeDeclaration(name: name, line: node.line)
        guard let typeNode = fields["type"], let typeName = typeNode.string else {
            report(node.line, "The \(label) has no type", "Give it one of: \(typeNames)")
            return nil
        }
        guard let type = AttributeType(rawValue: typeName) else {
            report(line(typeNode), "'\(typeName)' is no attribute type", "Use one of: \(typeNames)")
            return nil
        }
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
        return attribute
    }

    private var typeNames: String { AttributeType.allCases.map(\.rawValue).joined(separator: ", ") }

    private mutating func readRelationship(
        name: String, _ node: Located<Node>, entity: String
    ) -> RelationshipDeclaration? {
        let label = "relationship \(entity).\(name)"
        guard let fields = mapping(node.content, label, allowed: Self.relationshipKeys, line: node.line) else {
            return nil
        }
        guard let destination = located(fields["to"], "to") else {
            report(node.line, "The \(label) has no destination", "Name the entity it leads to with 'to:'")
            return nil
        }
        var relationship = RelationshipDeclaration(name: name, line: node.line, destination: destination)
        relationship.inverse = located(fields["inverse"], "inverse")
        if relationship.inverse == nil {
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
        if !relationship.isToMany, fields["minCount"] != nil || fields["maxCount"] != nil {
            report(node.line, "The \(label) leads to one object and has a count", "Remove minCount and maxCount")
        }
        return relationship
    }
}

// MARK: - Nodes

extension YAMLModelReader {
    private func line(_ node: Node) -> Int? { node.mark?.line }

    private mutating func mapping(
        _ node: Node, _ label: String, allowed: Set<String>, line fallback: Int? = nil
    ) -> [String: Node]? {
        guard let mapping = node.mapping else {
            report(line(node) ?? fallback, "The \(label) is no mapping", "Write it as 'key: value' lines")
            return nil
        }
        var fields: [String: Node] = [:]
        for (key, value) in mapping {
            let name = key.string ?? ""
            if allowed.contains(name) {
                fields[name] = value
            } else if Self.laterKeys.contains(name) {
                report(line(key), "'\(name)' in \(label) is not supported by this version", "Remove it")
            } else {
                let known = allowed.sorted().joined(separator: ", ")
                report(line(key), "'\(name)' is no key of \(label)", "Known keys are: \(known)")
            }
        }
        return fields
    }

    private mutating func pairs(_ node: Node?, _ label: String) -> [(String, Located<Node>)] {
        guard let node else { return [] }
        guard let mapping = node.mapping else {
            report(line(node), "The \(label) are no mapping", "Write them as 'name: {…}' lines")
            return []
        }
        return mapping.compactMap { key, value in
            guard let name = key.string else {
                report(line(key), "A name under \(label) is no text", "Use letters, digits and _")
                return nil
            }
            return (name, Located(content: value, line: line(key)))
        }
    }

    private mutating func string(_ node: Node, _ label: String) -> String? {
        if let text = node.string { return text }
        report(line(node), "'\(label)' is no text", "Write a single value")
        return nil
    }

    private mutating func located(_ node: Node?, _ label: String) -> Located<String>? {
        guard let node, let text = string(node, label) else { return nil }
        return Located(content: text, line: line(node))
    }

    private mutating func boolean(_ node: Node?, _ label: String) -> Bool? {
        guard let node else { return nil }
        if let flag = node.bool { return flag }
        report(line(node), "'\(label)' is neither true nor false", "Write true or false")
        return nil
    }

    private mutating func count(_ node: Node?, _ label: String) -> Int? {
        guard let node else { return nil }
        if let number = node.int, number >= 0 { return number }
        report(line(node), "'\(label)' is no whole number from 0 up", "Write a number")
        return nil
    }

    private mutating func choice<Choice>(
        _ node: Node?, _ label: String
    ) -> Choice? where Choice: RawRepresentable & CaseIterable, Choice.RawValue == String {
        guard let node else { return nil }
        if let text = node.string, let choice = Choice(rawValue: text) { return choice }
        let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        report(line(node), "'\(node.string ?? "")' is no value of '\(label)'", "Use one of: \(known)")
        return nil
    }
}
