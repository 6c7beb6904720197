import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct ModelRefusalTests {
    /// A model text with one mistake, and what the refusal has to say of it.
    struct Mistake: Sendable, CustomTestStringConvertible {
        let name: String
        let line: Int?
        let message: String
        let yaml: String

        var testDescription: String { name }
    }

    /// `A` with an attribute line and a relationship line, and `B`; the lines are 6 and 8.
    private static func model(_ attribute: String = "n: { type: integer64, default: 0 }", _ relationship: String)
        -> String
    {
        """
        entities:
          A:
            identity: id
            attributes:
              id: { type: string }
              \(attribute)
            relationships:
              \(relationship)
          B:
            identity: id
            attributes: { id: { type: string }, m: { type: integer64, default: 0 } }
            relationships: { a: { to: A, inverse: bs, optional: true } }
        """
    }

    private static func mistake(_ name: String, _ line: Int?, _ message: String, _ yaml: String) -> Mistake {
        Mistake(name: name, line: line, message: message, yaml: yaml)
    }

    private static func attribute(_ name: String, _ message: String, _ text: String) -> Mistake {
        mistake(name, 6, message, model(text, "bs: { to: B, many: true, inverse: a }"))
    }

    private static func relationship(_ name: String, _ message: String, _ text: String, line: Int = 8) -> Mistake {
        mistake(name, line, message, model("n: { type: integer64, default: 0 }", text))
    }

    private static let mistakes: [Mistake] = [
        relationship("inverse missing", "has no inverse", "bs: { to: B, many: true }"),
        relationship("inverse unknown", "has no relationship 'zs'", "bs: { to: B, many: true, inverse: zs }"),
        relationship(
            "inverse not mutual", "not each other's inverse", "bs: { to: B, many: true, inverse: none }", line: 12),
        relationship("destination unknown", "which is no entity", "bs: { to: C, many: true, inverse: a }"),
        relationship("destination missing", "has no destination", "bs: { many: true, inverse: a }"),
        relationship("unknown rule", "no value of 'delete'", "bs: { to: B, many: true, inverse: a, delete: destroy }"),
        relationship("unknown key", "no key of relationship", "bs: { to: B, many: true, inverse: a, colour: red }"),
        relationship(
            "counts crossed", "allows fewer", "bs: { to: B, many: true, inverse: a, minCount: 3, maxCount: 2 }"),
        relationship("count of one", "leads to one object and has a count", "bs: { to: B, inverse: a, minCount: 1 }"),
        relationship("no flag", "neither true nor false", "bs: { to: B, many: perhaps, inverse: a }"),
        relationship("one in order", "leads to one object and is ordered", "bs: { to: B, inverse: a, ordered: true }"),
        relationship("same name", "Two properties", "n: { to: B, many: true, inverse: none }"),
        attribute("bad type", "is no attribute type", "n: { type: number }"),
        attribute("no type", "has no type", "n: { optional: true }"),
        attribute("unknown attribute key", "no key of attribute", "n: { type: string, size: 3 }"),
        attribute("bad default", "is no integer64", "n: { type: integer64, default: many }"),
        attribute("bad bound", "is no date", "n: { type: date, min: yesterday }"),
        attribute("bad pattern", "no regular expression", "n: { type: string, pattern: '[' }"),
        attribute("length of a number", "has a length", "n: { type: double, maxLength: 3 }"),
        attribute("range of a text", "has a range", "n: { type: string, min: 3 }"),
        attribute("range crossed", "has a min above its max", "n: { type: decimal, min: 10, max: 9.5 }"),
        attribute("default out of range", "The default of A.n breaks", "n: { type: integer64, default: 1, min: 2 }"),
        attribute("lengths crossed", "above its maxLength", "n: { type: string, minLength: 3, maxLength: 2 }"),
        attribute("no name", "cannot be a property's name", "a-b: { type: string }"),
        attribute("hidden name", "an identity that a model does not state", "_identity: { type: string }"),
        attribute("derived text", "derived and no number", "n: { type: string, derived: bs.@count }"),
        attribute("derived from nothing", "no to-many relationship", "n: { type: integer64, derived: cs.@count }"),
        attribute("derived function", "is no operator", "n: { type: integer64, derived: bs.m.@median }"),
        attribute("derived sum of text", "is no number", "n: { type: integer64, derived: bs.id.@sum }"),
        attribute("derived syntax", "is wrong", "n: { type: integer64, derived: '(1 + 2' }"),
        attribute("derived name", "no numeric attribute", "n: { type: integer64, derived: 2 * id }"),
        attribute(
            "derived with default", "is derived and has a default", "n: { type: integer64, default: 1, derived: 1 + 1 }"
        ),
        attribute("derived count between", "intermediate '@count'", "n: { type: integer64, derived: bs.@count.m }"),
        attribute(
            "derived sum of two steps", "one to-many relationship", "n: { type: integer64, derived: bs.a.n.@sum }"),
        attribute("derived two operators", "one operator", "n: { type: integer64, derived: bs.@max.@count }"),
        attribute("derived path over many", "leads to many objects", "n: { type: integer64, derived: bs.m }"),
        attribute("derived path nowhere", "no relationship of A", "n: { type: integer64, derived: chat.title }"),
        attribute("derived path of another type", "takes the value of a string", "n: { type: integer64, derived: id }"),
        attribute("derived least of another type", "takes the value of", "n: { type: date, derived: bs.m.@min }"),
        attribute("derived function of text", "is no function", "n: { type: string, derived: 'title:(id)' }"),
        attribute(
            "derived text of a number", "transforms what is no text",
            "n: { type: integer64, derived: 'uppercase:(id)' }"),
        attribute(
            "derived function without path", "takes one key path", "n: { type: string, derived: 'canonical:(1 + 2)' }"),
        attribute("derived time", "is now() and no date", "n: { type: integer64, derived: now() }"),
        mistake(
            "circle over entities", 6, "A.n reads B.m reads A.n",
            model("n: { type: integer64, derived: bs.m.@sum }", "bs: { to: B, many: true, inverse: a }")
                .replacing("m: { type: integer64, default: 0 }", with: "m: { type: integer64, derived: a.n }")),
        mistake(
            "circle", 6, "depend on each other",
            model(
                "n: { type: double, derived: o + 1 }\n      o: { type: double, derived: n * 2 }",
                "bs: { to: B, many: true, inverse: a }")),
        mistake("no identity", 2, "has no identity", "entities:\n  A:\n    attributes: { id: { type: string } }\n"),
        mistake(
            "identity unknown", 3, "no attribute 'key'",
            "entities:\n  A:\n    identity: key\n    attributes: { id: { type: string } }\n"),
        mistake(
            "identity of a date", 3, "cannot be an identity",
            "entities:\n  A:\n    identity: id\n    attributes: { id: { type: date } }\n"),
        mistake(
            "version of a flag", 4, "cannot order versions",
            "entities:\n  A:\n    identity: id\n    version: f\n    attributes: { id: { type: string }, f: { type: boolean } }\n"
        ),
        mistake(
            "index", 5, "has no column",
            "entities:\n  A:\n    identity: id\n    attributes: { id: { type: string } }\n    indexes: [[id, z]]\n"),
        mistake(
            "key twice", 2, "stands twice",
            "entities:\n  A: { identity: id }\n  B: { identity: id }\n  A: { identity: id }\n"),
        mistake(
            "entity name", 2, "cannot be an entity's name",
            "entities:\n  A.b:\n    identity: id\n    attributes: { id: { type: string } }\n"),
        mistake("top key", 1, "no key of the model", "entitys: {}\n"),
        mistake("no entities", nil, "no entities", "model: x\n"),
        mistake("empty", nil, "is empty", ""),
        mistake("syntax", 2, "not YAML", "entities: [\n  }\n"),
    ]

    @Test(arguments: mistakes) func `mistake is named with its line and a remedy`(_ mistake: Mistake) throws {
        do {
            _ = try ObjectModel.parse(mistake.yaml, file: "m.yaml")
            Issue.record("the model was taken")
        } catch {
            let found = error.problems.filter { $0.message.contains(mistake.message) }
            let problem = try #require(found.first, "\(error)")
            #expect(problem.line == mistake.line, "\(error)")
            #expect(problem.file == "m.yaml")
            #expect(problem.remedy.count > 5)
        }
    }

    @Test func `every mistake is named at once`() {
        let yaml = Self.model("n: { type: number }", "bs: { to: B, many: true }")
        #expect(throws: ModelError.self) { try ObjectModel.parse(yaml) }
        do {
            _ = try ObjectModel.parse(yaml)
        } catch {
            #expect(error.problems.count == 2)
        }
    }

    @Test func `unreadable file is said`() {
        do {
            _ = try ObjectModel.load(path: "/nowhere/model.yaml")
            Issue.record("it was taken")
        } catch {
            #expect(error.description.contains("/nowhere/model.yaml"))
        }
    }

    @Test func `a file that cannot be read is named by the path that was tried`() throws {
        let tried = URL(fileURLWithPath: FileManager.default.currentDirectoryPath).deletingLastPathComponent()
            .appendingPathComponent("no-such-model.yaml").path
        do {
            _ = try ObjectModel.load(path: "../no-such-model.yaml")
            Issue.record("It was read")
        } catch {
            let expected = "../no-such-model.yaml: The model file \(tried) cannot be read"
            #expect(error.message.hasPrefix(expected), "\(error)")
        }
    }
}
