import ObjectGraph
import Testing

@testable import GraphCore

/// A model written as YAML is the same model when it is read again.
@Suite struct YAMLModelWriterTests {
    private func expectRoundTrip(_ model: ObjectModel) throws {
        let text = model.yaml
        let again = try ObjectModel.parse(text, file: "written.yaml")
        #expect(again.hash == model.hash)
        #expect(again.counts == model.counts)
        #expect(again.yaml == text)
        #expect(again.name == model.name && again.version == model.version)
    }

    @Test(arguments: [Models.people, Models.rules, Models.strict, Models.awkward])
    func `a model that was written as YAML reads back the same`(yaml: String) throws {
        try expectRoundTrip(try ObjectModel.parse(yaml))
    }

    @Test(arguments: ["chat", "work-orders"])
    func `configured models read back the same`(name: String) throws {
        try expectRoundTrip(try configuredModel(name))
    }

    @Test func `every option reads back the same`() throws {
        let model = try ObjectModel.parse(
            """
            model: "a: b"
            version: 1.10
            info: { "key: 1": "line\\nbreak \\u2028 \\u0085 \\uFEFF \\"quoted\\" \\\\ #" }
            entities:
              Base:
                abstract: true
                identity: id
                version: at
                unique: [[name, at], [on]]
                renamedFrom: Older
                hashModifier: "3"
                class: BaseMO
                info: { yes: "no", "null": "~" }
                attributes:
                  id: { type: uuid }
                  on: { type: string, optional: true, default: "yes", pattern: "^[a-z]{1,3}$" }
                  name: { type: string, minLength: 1, maxLength: 20, default: "a, b: {c}", renamedFrom: title, info: { a: b } }
                  at: { type: date, default: 2001-01-01, min: 1990-01-01, max: 2100-01-01, indexed: true }
                  price: { type: decimal, default: "1.50", preserveAfterDeletion: true, hashModifier: x }
                  twice: { type: decimal, derived: price * 2 }
                  draft: { type: string, optional: true, transient: true }
                indexes: [[name, at], { name: late, on: [{ property: at, descending: true }], where: "name = 'a'" }]
              Leaf:
                parent: Base
                mergePolicy: objectTrump
                relationships:
                  next: { to: Leaf, inverse: previous, optional: true, delete: noAction, onMissing: reject, renamedFrom: after }
                  previous: { to: Leaf, inverse: next, optional: true }
                  parts: { to: Part, many: true, ordered: true, inverse: leaf, delete: cascade, optional: false, minCount: 1, maxCount: 9 }
                  tags: { to: Part, many: true, inverse: none, delete: deny, hashModifier: "1" }
              Part:
                identity: "no"
                attributes: { "no": { type: integer64 } }
                relationships: { leaf: { to: Leaf, inverse: parts } }
            """)
        try expectRoundTrip(model)
        let again = try ObjectModel.parse(model.yaml)
        #expect(again.declaration.info == model.declaration.info)
        #expect(again.entities[0].info == ["yes": "no", "null": "~"])
        #expect(ModelDescription(again).text == ModelDescription(model).text)
    }
}
