import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// What distinguishes two models, and what a migration does about it.
@Suite struct ModelDifferenceTests {
    private func difference(_ old: String, _ new: String) throws -> [String] {
        let difference = ModelDifference(
            from: try ObjectModel.parse(entityModel(old)), to: try ObjectModel.parse(entityModel(new)))
        return difference.changes.map { "\($0.kind.rawValue) \($0.inference.name)" }
    }

    /// One change of an attribute each, with what a migration does about it.
    @Test(arguments: [
        ("", "a: { type: string, optional: true }", "attributeAdded inferred"),
        ("", "a: { type: string, default: x }", "attributeAdded inferred"),
        ("", "a: { type: string }", "attributeAdded checked"),
        ("a: { type: string }", "", "attributeRemoved inferred"),
        ("a: { type: string }", "b: { type: string, renamedFrom: a }", "attributeRenamed inferred"),
        ("a: { type: string }", "a: { type: string, optional: true }", "madeOptional unneeded"),
        ("a: { type: string, optional: true }", "a: { type: string }", "madeRequired checked"),
        ("a: { type: string, default: x }", "a: { type: string, default: y }", "defaultChanged unneeded"),
        ("a: { type: string }", "a: { type: string, maxLength: 3 }", "limitsChanged unneeded"),
        ("a: { type: string }", "a: { type: string, indexed: true }", "indexedChanged inferred"),
        ("a: { type: string }", "a: { type: string, unique: true }", "uniquenessAdded checked"),
        ("a: { type: string, unique: true }", "a: { type: string }", "uniquenessRemoved inferred"),
        ("a: { type: string }", "a: { type: string, preserveAfterDeletion: true }", "preservationChanged unneeded"),
        ("a: { type: string }", "a: { type: string, hashModifier: two }", "hashModifierChanged inferred"),
        ("a: { type: string }", "a: { type: string, info: { k: v } }", "informationChanged unneeded"),
        (
            "a: { type: string, optional: true, transient: true }", "a: { type: string, optional: true }",
            "transientChanged inferred"
        ),
        (
            "a: { type: string, optional: true }", "a: { type: string, optional: true, transient: true }",
            "transientChanged inferred"
        ),
        (
            "n: { type: integer64 }\na: { type: integer64, derived: n + 1 }",
            "n: { type: integer64 }\na: { type: integer64, derived: n + 2 }", "derivationChanged inferred"
        ),
    ])
    func `each change of an attribute is named`(_ old: String, _ new: String, _ expected: String) throws {
        #expect(try difference(old, new) == [expected])
    }

    /// Which types follow from which, and whether rows have to be looked at.
    @Test(arguments: AttributeType.allCases)
    func `type changes lose nothing or are refused`(old: AttributeType) throws {
        for new in AttributeType.allCases where new != old {
            let change = try difference("a: { type: \(old.rawValue) }", "a: { type: \(new.rawValue) }")
            guard let conversion = ValueConversion(from: old, to: new) else {
                #expect(change == ["typeChanged refused"], "\(old) → \(new)")
                continue
            }
            #expect(change == ["typeChanged \(conversion.safety == .checked ? "checked" : "inferred")"])
            for value in Self.samples(old) {
                guard let converted = conversion.converted(value) else {
                    #expect(conversion.safety == .checked, "\(old) → \(new): \(value)")
                    continue
                }
                #expect(new.holds(converted), "\(old) → \(new): \(value) became \(converted)")
                // What was converted leads back: nothing was lost. A text may have other spellings of one value.
                if [old, new].contains(.transformable) || old == .string || old == .uri { continue }
                if let back = ValueConversion(from: new, to: old)?.converted(converted) {
                    #expect(old.text(of: back) == old.text(of: value), "\(old) → \(new): \(value) came back as \(back)")
                }
            }
        }
    }

    private static func samples(_ type: AttributeType) -> [Value] {
        switch type {
        case .string: ["", "x", "12", "1.50", "true", "2026-01-01T00:00:00Z", "é"]
        case .uri: ["http://a.b/c?d"]
        case .transformable: ["{\"a\":1}"]
        case .integer16: [0, -32768, 32767]
        case .integer32: [1, 2_147_483_647]
        case .integer64: [1, .integer(.max), .integer((1 << 53) + 1)]
        case .double: [.double(0), .double(0.1), .double(1e300), .double(3)]
        case .float: [.double(0.5), .double(Double(Float(0.1)))]
        case .decimal: ["0", "12.5", "99999999999999999999999999999999999999"]
        case .boolean: [0, 1]
        case .date: [0, .integer(1_700_000_000_123_456)]
        case .uuid: [.blob([UInt8](repeating: 7, count: 16))]
        case .binary: [.blob([]), .blob([1, 2, 3]), .blob([UInt8](repeating: 9, count: 16))]
        }
    }

    private func pair(_ a: String, _ b: String = "", _ rest: String = "") throws -> ObjectModel {
        try ObjectModel.parse(
            """
            model: m
            entities:
              A: { identity: id, attributes: { id: { type: string } }, relationships: { \(a) }\(rest) }
              B: { identity: id, attributes: { id: { type: string } }, relationships: { \(b) } }
              C: { identity: id, attributes: { id: { type: string } } }
            """)
    }

    private func changes(_ old: ObjectModel, _ new: ObjectModel) -> Set<String> {
        Set(
            ModelDifference(from: old, to: new).changes.map {
                "\($0.entity).\($0.property ?? "") \($0.kind.rawValue) \($0.inference.name)"
            })
    }

    @Test func `each change of a relationship is named`() throws {
        let plain = try pair("b: { to: B, inverse: none, optional: true }")
        #expect(changes(try pair(""), plain) == ["A.b relationshipAdded inferred"])
        #expect(changes(try pair(""), try pair("b: { to: B, inverse: none }")) == ["A.b relationshipAdded checked"])
        #expect(changes(plain, try pair("")) == ["A.b relationshipRemoved inferred"])
        #expect(
            changes(plain, try pair("c: { to: B, inverse: none, optional: true, renamedFrom: b }"))
                == ["A.c relationshipRenamed inferred"])
        #expect(changes(plain, try pair("b: { to: B, inverse: none }")) == ["A.b madeRequired checked"])
        #expect(
            changes(plain, try pair("b: { to: C, inverse: none, optional: true }")) == [
                "A.b destinationChanged checked"
            ])
        let many = try pair("b: { to: B, many: true, inverse: none }")
        #expect(changes(plain, many) == ["A.b madeToMany inferred"])
        #expect(changes(many, plain) == ["A.b madeToOne checked"])
        #expect(
            changes(many, try pair("b: { to: B, many: true, ordered: true, inverse: none }")) == [
                "A.b orderChanged inferred"
            ])
        #expect(
            changes(many, try pair("b: { to: B, many: true, maxCount: 3, inverse: none }")) == [
                "A.b countsChanged unneeded"
            ])
        #expect(
            changes(plain, try pair("b: { to: B, inverse: none, optional: true, onMissing: reject }"))
                == ["A.b onMissingChanged unneeded"])
        let mutual = try pair("b: { to: B, inverse: as, optional: true }", "as: { to: A, many: true, inverse: b }")
        #expect(changes(plain, mutual) == ["A.b inverseChanged inferred", "B.as relationshipAdded inferred"])
        let cascade = try pair(
            "b: { to: B, inverse: as, optional: true }", "as: { to: A, many: true, inverse: b, delete: cascade }")
        #expect(changes(mutual, cascade) == ["B.as deleteRuleChanged unneeded"])
        let loose = try pair(
            "b: { to: B, inverse: as, optional: true }", "as: { to: A, many: true, inverse: b, delete: noAction }")
        #expect(changes(loose, mutual) == ["B.as deleteRuleChanged checked"])
    }

    @Test func `entities indexes and policies are named`() throws {
        let plain = try pair("")
        #expect(changes(plain, try pair("", "", ", indexes: [[id]]")) == ["A. indexesChanged inferred"])
        #expect(changes(plain, try pair("", "", ", mergePolicy: rollback")) == ["A. mergePolicyChanged unneeded"])
        let model = { (entities: String) in try ObjectModel.parse("model: m\nentities:\n\(entities)") }
        let one = try model("  A: { identity: id, attributes: { id: { type: string }, k: { type: string } } }")
        let two = try model(
            "  B: { renamedFrom: A, identity: k, attributes: { id: { type: string }, k: { type: string } } }")
        #expect(changes(one, two) == ["B. entityRenamed inferred", "B. identityChanged checked"])
        let three = try model(
            "  A: { identity: id, attributes: { id: { type: string }, k: { type: string } } }\n  N: { identity: id, attributes: { id: { type: string } } }"
        )
        #expect(changes(one, three) == ["N. entityAdded inferred"])
        #expect(changes(three, one) == ["N. entityRemoved inferred"])
    }

    @Test func `a reference that dangles stands against a foreign key`() throws {
        func yaml(_ rule: String, _ version: String) -> String {
            """
            model: m
            version: \(version)
            entities:
              A: { identity: id, attributes: { id: { type: string } }, relationships: { b: { to: B, inverse: as, optional: true } } }
              B: { identity: id, attributes: { id: { type: string } }, relationships: { as: { to: A, many: true, inverse: b, delete: \(rule) } } }
            """
        }
        let fixture = try MigrationFixture(yaml("noAction", "1")) { graph in
            try graph.apply([graph.upsert("A", "a", ["b": "b"]), graph.upsert("B", "b")])
            try graph.apply([graph.delete("B", "b")])
        }
        let before = try fixture.dump()
        #expect(try fixture.refusal(to: yaml("nullify", "2")).0 == "migration.rows")
        #expect(try fixture.dump() == before)
        try fixture.use { try $0.apply([$0.upsert("A", "a", ["b": .value(.null)])]) }
        try fixture.migrate(to: yaml("nullify", "2"))
    }

    @Test func `the texts are for people and for scripts`() throws {
        let difference = ModelDifference(
            from: try ObjectModel.parse(entityModel("a: { type: string }")),
            to: try ObjectModel.parse(entityModel("a: { type: integer64 }")))
        #expect(
            difference.text
                == "Item.a: type changed: string → integer64 — checked (each value has to fit without loss)\n")
        let json = difference.json
        #expect(
            json.hasPrefix(
                "{\"equal\":false,\"needsMigration\":true,\"inferable\":true,\"changes\":[{\"kind\":\"typeChanged\""))
        #expect((try? JSONSerialization.jsonObject(with: Data(json.utf8))) != nil)
        let same = ModelDifference(
            from: try ObjectModel.parse(entityModel("")), to: try ObjectModel.parse(entityModel("", version: "2")))
        #expect(same.isEmpty && same.text == "no difference\n")
    }
}
