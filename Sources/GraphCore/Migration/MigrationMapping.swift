import Foundation
import Yams

/// The expressions of a custom migration, over the old object, for attributes of the new model.
///
/// In YAML:
/// ```yaml
/// entities:
///   Task:
///     priority: map(priority, 'low', 1, 'medium', 2, 'high', 3)
///     label: { value: "upper(title)" }
///     rank: { from: priority, map: { low: 1, high: 3 }, otherwise: 0 }
/// ```
public struct MigrationMapping: Sendable {
    /// By the new entity's name, then the new attribute's.
    private var expressions: [String: [String: MigrationExpression]] = [:]
    private var places: [String: Int] = [:]
    private var file = "mapping"
    private var problems: [ModelError.Problem] = []

    /// Reads a mapping file.
    ///
    /// - Throws: ``ModelError`` with every mistake found, each with file, line and remedy.
    public static func load(path: String) throws(ModelError) -> MigrationMapping {
        guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8)
        else {
            throw ModelError(
                file: path, "The mapping file cannot be read", remedy: "Check the path and its permissions")
        }
        return try parse(text, file: path)
    }

    /// Reads a mapping from text; `file` names it in errors.
    ///
    /// - Throws: ``ModelError`` with every mistake found.
    public static func parse(_ text: String, file: String = "mapping.yaml") throws(ModelError) -> MigrationMapping {
        var mapping = MigrationMapping()
        mapping.file = file
        mapping.read(text)
        if mapping.problems.isEmpty { return mapping }
        throw ModelError(problems: mapping.problems)
    }

    /// All expressions as one text; others give another.
    package var signature: String {
        expressions.sorted { $0.key < $1.key }.map { entity, attributes in
            "\(entity): \(attributes.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" })"
        }.joined(separator: "\n")
    }

    package func expression(for attribute: Attribute, of entity: Entity) -> MigrationExpression? {
        expressions[entity.name]?[attribute.name]
    }

    /// Checks that the mapping names what the two models have.
    ///
    /// - Throws: ``ModelError`` with every name that is wrong.
    package func check(_ mapping: ModelMapping) throws(ModelError) {
        var copy = self
        for (name, attributes) in expressions.sorted(by: { $0.key < $1.key }) {
            guard let entity = mapping.new.entity(named: name) else {
                copy.report(places[name], "The new model has no entity '\(name)'", "Name one that it has")
                continue
            }
            guard let old = mapping.source(of: entity).entity else {
                copy.report(places[name], "'\(name)' is new: there are no rows to compute from", "Remove it")
                continue
            }
            for (attribute, expression) in attributes.sorted(by: { $0.key < $1.key }) {
                let place = places["\(name).\(attribute)"]
                if entity.attribute(named: attribute)?.isDerived ?? true {
                    copy.report(place, "\(name) has no stored attribute '\(attribute)'", "Name one that it has")
                }
                for input in expression.names.sorted()
                where input != Self.keyName && old.attribute(named: input) == nil {
                    copy.report(
                        place, "\(old.name) of the old model has no attribute '\(input)'", "Name one that it has")
                }
            }
        }
        if !copy.problems.isEmpty { throw ModelError(problems: copy.problems) }
    }

    /// The name by which an expression reads the row's key, unless an attribute is called so.
    package static let keyName = "pk"

    // MARK: Reading

    private mutating func report(_ line: Int?, _ message: String, _ remedy: String) {
        problems.append(ModelError.Problem(file: file, line: line, message: message, remedy: remedy))
    }

    private mutating func read(_ text: String) {
        let root: Node?
        do {
            root = try Yams.compose(yaml: text, .basic)
        } catch {
            report(nil, "This is not YAML", "Correct the syntax")
            return
        }
        guard let entities = root?.mapping?["entities"], root?.mapping?.count == 1 else {
            report(nil, "The mapping does not begin with 'entities:'", "Write 'entities:', then an entity's name")
            return
        }
        read(entities: entities)
    }

    /// Reads a mapping that stands in another file.
    package static func read(_ entities: Node, file: String) throws(ModelError) -> MigrationMapping {
        var mapping = MigrationMapping()
        mapping.file = file
        mapping.read(entities: entities)
        if mapping.problems.isEmpty { return mapping }
        throw ModelError(problems: mapping.problems)
    }

    private mutating func read(entities node: Node) {
        guard let entities = node.mapping else {
            report(node.mark?.line, "'entities' is no mapping", "Write an entity's name, then 'attribute: expression'")
            return
        }
        for (key, node) in entities {
            guard let name = key.string, let attributes = node.mapping else {
                report(key.mark?.line, "An entity of the mapping has no attributes", "Write 'attribute: expression'")
                continue
            }
            places[name] = key.mark?.line
            for (key, node) in attributes { read(key, node, entity: name) }
        }
    }

    private mutating func read(_ key: Node, _ node: Node, entity: String) {
        let name = key.string ?? ""
        places["\(entity).\(name)"] = key.mark?.line
        if let text = node.string {
            parse(text, node.mark?.line, entity, name)
        } else if let text = node.mapping?["value"]?.string, node.mapping?.count == 1 {
            parse(text, node.mark?.line, entity, name)
        } else if let from = node.mapping?["from"]?.string, let pairs = node.mapping?["map"]?.mapping {
            var arguments: [MigrationExpression] = [.attribute(from)]
            for (old, new) in pairs {
                arguments += [.constant(.text(old.string ?? "")), .constant(Self.value(new))]
            }
            if let otherwise = node.mapping?["otherwise"] { arguments.append(.constant(Self.value(otherwise))) }
            expressions[entity, default: [:]][name] = .call(.map, arguments)
        } else {
            report(
                key.mark?.line, "\(entity).\(name) is no expression",
                "Write a text, {value: expression} or {from: name, map: {old: new}, otherwise: value}")
        }
    }

    private static func value(_ node: Node) -> Value {
        if node.null != nil { return .null }
        return .text(node.string ?? "")
    }

    private mutating func parse(_ text: String, _ line: Int?, _ entity: String, _ attribute: String) {
        do {
            expressions[entity, default: [:]][attribute] = try MigrationExpressionParser.parse(text)
        } catch {
            report(line, "The expression of \(entity).\(attribute) is wrong: \(error.message)", "Correct it")
        }
    }
}
