import ObjectGraph
import Testing

@testable import GraphCore

/// What makes another store necessary, and what does not: the model's hash, against the list of Core Data's.
@Suite struct ModelHashTests {
    private static let model = """
        entities:
          Parent: { identity: id, attributes: { id: { type: string } } }
          Other: { identity: id, attributes: { id: { type: string } } }
          Item:
            identity: id
            attributes:
              id: { type: string }
              name: { type: string, optional: true }
              size: { type: integer32, optional: true }
            relationships:
              boxes: { to: Box, many: true, inverse: items }
          Box:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              items: { to: Item, many: true, inverse: boxes, minCount: 1, maxCount: 5 }
              main: { to: Item, inverse: none, optional: true }
        """

    private func isSame(_ old: String, _ new: String) throws -> Bool {
        #expect(Self.model.contains(old), "the model has no '\(old)'")
        return try ObjectModel.parse(Self.model).hash == ObjectModel.parse(Self.model.replacingFirst(old, new)).hash
    }

    @Test(arguments: [
        ("an entity's name", "Other:", "Another:"),
        (
            "the parent", "Item:\n    identity: id\n    attributes:\n      id: { type: string }",
            "Item:\n    parent: Parent\n    attributes:"
        ),
        ("whether it is abstract", "Other: { identity: id,", "Other: { abstract: true, identity: id,"),
        ("a property's name", "name: { type", "title: { type"),
        ("a type", "type: integer32", "type: integer64"),
        ("a uniqueness constraint", "type: integer32, optional: true", "type: integer32, optional: true, unique: true"),
        (
            "the constraints of several", "Item:\n    identity: id",
            "Item:\n    identity: id\n    unique: [[name, size]]"
        ),
        ("an entity's modifier", "Other: { identity", "Other: { hashModifier: two, identity"),
        ("a property's modifier", "type: integer32", "hashModifier: two, type: integer32"),
        ("whether it is transient", "type: integer32,", "transient: true, type: integer32,"),
        ("a destination", "main: { to: Item", "main: { to: Box"),
        ("an inverse", "items }\n", "things }\n"),
        ("to-many or to-one", "main: { to: Item,", "main: { many: true, to: Item,"),
        ("order", "minCount: 1, maxCount: 5", "minCount: 1, maxCount: 5, ordered: true"),
        // Ours only: the store's tables depend on them.
        ("an index", "type: integer32,", "indexed: true, type: integer32,"),
        ("a compound index", "Item:\n    identity: id", "Item:\n    identity: id\n    indexes: [[name, size]]"),
        (
            "the identity", "Other: { identity: id, attributes: { id: { type: string }",
            "Other: { identity: k, attributes: { k: { type: string }"
        ),
    ])
    func `the hash covers the parts of a model that the store depends on`(_ name: String, _ old: String, _ new: String)
        throws
    {
        let renamed = name == "an inverse"
        let text = renamed ? Self.model.replacingFirst("items: { to", "things: { to") : Self.model
        let other = text.replacingFirst(renamed ? "inverse: items" : old, renamed ? "inverse: things" : new)
        #expect(other != Self.model)
        #expect(try ObjectModel.parse(other).hash != ObjectModel.parse(Self.model).hash, "\(name)")
    }

    @Test(arguments: [
        ("the class", "Other: { identity", "Other: { class: OtherObject, identity"),
        ("the delete rule", "inverse: boxes,", "inverse: boxes, delete: cascade,"),
        (
            "a transformer and other notes", "type: integer32,",
            "info: { coredata.valueTransformerName: T }, type: integer32,"
        ),
        (
            "the order of the file",
            "Parent: { identity: id, attributes: { id: { type: string } } }\n  Other: { identity: id, attributes: { id: { type: string } } }",
            "Other: { identity: id, attributes: { id: { type: string } } }\n  Parent: { identity: id, attributes: { id: { type: string } } }"
        ),
        // Ours only: Core Data has these in its hash, and the store does not depend on them.
        ("whether it is optional", "name: { type: string, optional: true }", "name: { type: string, default: x }"),
        ("minimum and maximum", "minCount: 1, maxCount: 5", "minCount: 2"),
        ("limits of values", "name: { type: string,", "name: { maxLength: 9, type: string,"),
        ("the merge policy", "Item:\n    identity: id", "Item:\n    identity: id\n    mergePolicy: rollback"),
    ])
    func `the hash leaves out the parts of a model that the store does not depend on`(
        _ name: String, _ old: String, _ new: String
    ) throws {
        #expect(try isSame(old, new), "\(name)")
    }
}
