import ObjectGraph
import Testing

@testable import GraphCore

/// All problems of a model are listed at once, whatever the stage that finds them, and nothing that merely follows.
@Suite struct ModelStagesTests {
    private func messages(_ yaml: String) -> [String] {
        do throws(ModelError) {
            _ = try ObjectModel.parse(yaml, file: "m.yaml")
            return []
        } catch {
            return error.problems.map { "\($0.line ?? 0) \($0.message)" }
        }
    }

    @Test func `problems of syntax, references and semantics are listed at once`() {
        let found = messages(
            """
            entities:
              A:
                identity: id
                attributes:
                  id: { type: string }
                  n: { type: number }
                  limit: { type: integer64, default: 1, min: 2 }
                  twice: { type: double, derived: n * 2 }
                  loop: { type: double, derived: loop + 1 }
                  total: { type: integer64, derived: bs.@count }
                relationships:
                  bs: { to: Nowhere, many: true, inverse: a }
                  cs: { to: C, many: true, inverse: zs }
                indexes: [[n], [gone], { on: [limit], where: "n > 1" }, { on: [limit], where: "(" }]
                unique: [[n, limit]]
              B:
                identity: key
                parent: Missing
                attributes: { text: { type: string, min: 3 } }
                relationships: { a: { to: A, inverse: bs, optional: true } }
              C:
                attributes: { id: { type: string } }
              D: { identity: n, version: n, attributes: { n: { type: nothing } } }
            """)
        let wanted = [
            "6 'number' is no attribute type", "7 The default of A.limit breaks", "9 Derived attributes depend",
            "12 A.bs leads to 'Nowhere'", "13 C has no relationship 'zs'", "14 'gone' in an index of A has no column",
            "14 The condition of an index of A", "18 The parent of B, 'Missing'", "19 B.text has a range",
            "21 C has no identity", "23 'nothing' is no attribute type",
        ]
        for text in wanted {
            #expect(found.contains { $0.hasPrefix(text) }, "\(text)\nin\n\(found.joined(separator: "\n"))")
        }
        #expect(found.count == wanted.count, "\(found.joined(separator: "\n"))")
    }

    @Test func `a circle of parents does not hide the rest`() {
        let found = messages(
            """
            entities:
              A: { parent: B, attributes: { a: { type: string, derived: other } } }
              B: { parent: A, identity: id }
              C: { identity: id, attributes: { id: { type: date }, x: { type: string, pattern: "[" } } }
            """)
        #expect(found.filter { $0.contains("among its own ancestors") }.count == 2)
        #expect(found.contains { $0.hasPrefix("4 C.id cannot be an identity") })
        #expect(found.contains { $0.hasPrefix("4 The pattern of C.x") })
        #expect(found.count == 4, "\(found)")
    }

    @Test func `all mistakes of a Core Data model are listed at once`() {
        let found = CoreDataModels.problems(
            """
            <entity name="A"><attribute name="x" attributeType="Text"/>
            <attribute name="y" attributeType="Integer 16" defaultValueString="many"/>
            <attribute name="z" attributeType="Integer 16" derived="YES" derivationExpression="x + gone"/>
            <attribute name="w" attributeType="Integer 16" derived="YES" derivationExpression="gone + 1"/>
            <relationship name="b" destinationEntity="B"/><relationship name="c"/></entity>
            """)
        for text in [
            "'Text' is no", "'defaultValueString' of A.y", "'gone' in A.w", "A.b leads to 'B'",
            "A.c has no destination",
        ] {
            #expect(found.contains { $0.contains(text) }, "\(text) in \(found)")
        }
        #expect(found.count == 5, "\(found)")
    }
}
