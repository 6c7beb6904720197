import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// Expressions of mappings, and mapping files that are wrong.
@Suite struct MigrationExpressionTests {
    private func value(_ text: String, as type: AttributeType = .string) throws -> Value? {
        let operands: [String: Operand] = [
            "name": Operand(.text(" Ada "), .string), "price": Operand(.text("12.50"), .decimal),
            "count": Operand(.integer(3), .integer64), "none": Operand(.null, .string),
            "at": Operand(.integer(0), .date), "flag": Operand(.integer(1), .boolean),
            "pk": Operand(.integer(9), .integer64),
        ]
        return try MigrationExpressionParser.parse(text).value(operands).stored(as: type)
    }

    @Test func `functions compute what they are named for`() throws {
        #expect(try value("upper(name)") == " ADA ")
        #expect(try value("lower(trim(name))") == "ada")
        #expect(try value("length(name)", as: .integer16) == 5)
        #expect(try value("concat(name, none, count)") == " Ada 3")
        #expect(try value("coalesce(none, 'x')") == "x")
        #expect(try value("replace(name, 'A', 'E')") == " Eda ")
        #expect(try value("substring(name, 1, 2)") == "Ad")
        #expect(try value("substring(name, 3)") == "a ")
        #expect(try value("round(price)", as: .integer64) == 12)
        #expect(try value("number('4') + 1", as: .integer64) == 5)
        #expect(try value("string(at)") == "1970-01-01T00:00:00Z")
        #expect(try value("map(count, 3, 'three', 'other')") == "three")
        #expect(try value("map(count, 4, 'four', 'other')") == "other")
        #expect(try value("map(count, 4, 'four')") == .null)
        #expect(try value("'item-' + pk") == "item-9")
        #expect(try value("uuid()", as: .uuid) != value("uuid()", as: .uuid))
    }

    @Test func `operators bind as in arithmetic`() throws {
        #expect(try value("1 + 2 * -count", as: .integer64) == -5)
        #expect(try value("(1 + 2) * count", as: .integer64) == 9)
        #expect(try value("price / 0", as: .decimal) == .null)
        #expect(try value("number('1e100') * number('1e100')", as: .decimal) == .null)
        #expect(try value("price * 100", as: .integer64) == 1250)
        #expect(try value("none + 1", as: .integer64) == .null)
        #expect(try value("trim(name) + count") == "Ada3")
        #expect(try value("null", as: .date) == .null)
        #expect(try value("true", as: .boolean) == 1)
        #expect(try value("'it''s'") == "it's")
    }

    @Test func `a text without a form in the type gives no value`() throws {
        #expect(try value("name", as: .integer64) == nil)
        #expect(try value("price", as: .integer64) == nil)
        #expect(try value("'2026-01-01T00:00:00Z'", as: .date) == .integer(1_767_225_600_000_000))
        #expect(try value("'never'", as: .date) == nil)
    }

    @Test(arguments: [
        "", "(", "1 +", "upper(", "upper()", "shout(name)", "name name", "'open", "1.2.3", "map(a, b)", "#",
        String(repeating: "(", count: 100) + "1" + String(repeating: ")", count: 100),
        String(repeating: "-", count: 100) + "1",
    ])
    func `a wrong expression is refused`(_ text: String) {
        #expect(throws: MigrationExpressionParser.Failure.self) { try MigrationExpressionParser.parse(text) }
    }

    // MARK: Mapping files

    @Test(arguments: [
        ("entities: [", "not YAML"), ("Item: {}", "does not begin with 'entities:'"), ("entities: x", ":1: 'entities'"),
        ("entities:\n  Item: x", ":2: An entity"), ("entities:\n  Item:\n    a: [1]", ":3: Item.a is no expression"),
        ("entities:\n  Item:\n    a: upper(", ":3: The expression of Item.a is wrong"),
    ])
    func `a wrong mapping is refused with its place`(_ text: String, _ complaint: String) {
        do throws(ModelError) {
            _ = try MigrationMapping.parse(text, file: "map.yaml")
            Issue.record("it was read")
        } catch {
            #expect(error.description.contains(complaint), "\(error)")
        }
    }

    @Test(arguments: [
        ("Nobody:\n    a: b", ":2: The new model has no entity 'Nobody'"),
        ("New:\n    id: id", ":2: 'New' is new"),
        ("Item:\n    zip: a", ":3: Item has no stored attribute 'zip'"),
        ("Item:\n    a: upper(zip)", ":3: Item of the old model has no attribute 'zip'"),
    ])
    func `a mapping that names what is not there is refused and the store unharmed`(_ text: String, _ complaint: String)
        throws
    {
        let fixture = try MigrationFixture(entityModel("a: { type: string }")) {
            try $0.apply([$0.upsert("Item", "i", ["a": "x"])])
        }
        let before = try fixture.dump()
        let target = try ObjectModel.parse(
            entityModel(
                "a: { type: string }\nb: { type: string, optional: true }",
                "  New: { identity: id, attributes: { id: { type: string } } }", version: "2"))
        let migrator = try fixture.migrator {
            $0.mapping = try MigrationMapping.parse("entities:\n  \(text)", file: "map.yaml")
        }
        do {
            try migrator.migrate(to: target)
            Issue.record("it was taken")
        } catch let error as ModelError {
            #expect(error.description.contains("map.yaml\(complaint)"), "\(error)")
        }
        #expect(try fixture.dump() == before)
        try fixture.expectOld()
    }
}
