import ObjectGraph
import Testing

@testable import GraphCore

/// What Xcode leaves in models and Core Data loads: it loads here, with one notice for each kind.
@Suite struct CoreDataReadingTests {
    private func model(_ content: String) throws -> ObjectModel {
        try CoreDataModels.read(
            "<entity name=\"Item\"><attribute name=\"key\" attributeType=\"String\" optional=\"YES\"/>\(content)</entity>"
        )
    }

    private func attribute(_ text: String, _ type: String) throws -> (Attribute, [String]) {
        let model = try model("<attribute name=\"x\" attributeType=\"\(type)\" optional=\"YES\" \(text)/>")
        return (try #require(model.entities[0].attribute(named: "x")), model.notes)
    }

    @Test func `YES and NO as numbers are 1 and 0, told once for the model`() throws {
        let model = try model(
            """
            <attribute name="a" attributeType="Integer 16" defaultValueString="NO"/>
            <attribute name="b" attributeType="Double" defaultValueString="YES"/>
            <attribute name="c" attributeType="Decimal" defaultValueString="YES"/>
            """)
        let item = model.entities[0]
        #expect(item.attribute(named: "a")?.defaultValue == .integer(0))
        #expect(item.attribute(named: "b")?.defaultValue == .double(1))
        #expect(item.attribute(named: "c")?.defaultValue == .text("1"))
        let notes = model.notes.filter { $0.contains("'YES' and 'NO'") }
        #expect(notes.count == 1 && notes[0].contains("Item.a, Item.b, Item.c"), "\(notes)")
        #expect(try ObjectModel.parse(model.yaml).hash == model.hash)
    }

    @Test(
        arguments: [
            ("Integer 16", "defaultValueString=\"1.5\"", Value.integer(1), "decimals"),
            ("Integer 16", "defaultValueString=\"70000\"", .null, "no value of"),
            ("Integer 32", "defaultValueString=\"0\" minValueString=\"1\"", .null, "contradicts"),
            (
                "Integer 32", "defaultValueString=\"5\" minValueString=\"9\" maxValueString=\"3\"", .integer(5),
                "contradicts"
            ),
            ("Integer 32", "defaultValueString=\"\"", .null, ""),
            ("Boolean", "defaultValueString=\"2\"", .integer(1), "read as"),
            ("String", "defaultValueString=\"long\" maxValueString=\"2\"", .null, "contradicts"),
            ("String", "defaultValueString=\"a\" regularExpressionString=\"[\"", .text("a"), "contradicts"),
            ("String", "minValueString=\"-1\"", .null, "below 0"),
            ("UUID", "defaultValueString=\"none\"", .null, "no value of"),
            ("URI", "defaultValueString=\"a b\"", .null, "contradicts"),
            ("Date", "minDateTimeInterval=\"-99999999999999\"", .null, "1 to 9999"),
            ("Date", "defaultDateTimeInterval=\"\"", .null, ""),
            (
                "Integer 64", "derived=\"YES\" derivationExpression=\"1 + 1\" defaultValueString=\"0\"", .null,
                "contradicts"
            ),
            ("Int32", "", .null, "'Int32' is read as integer32"), ("Binary Data", "", .null, "read as binary"),
            ("100", "", .null, "read as integer16"), ("", "", .null, "holds JSON"),
            ("Object ID", "", .null, "holds JSON"),
        ])
    func `further settings of an attribute are read or set aside, with a notice`(
        type: String, text: String, value: Value, notice: String
    ) throws {
        let (attribute, notes) = try attribute(text, type)
        #expect(attribute.defaultValue == value)
        #expect(notice.isEmpty || notes.contains { $0.contains(notice) }, "\(notes)")
    }

    @Test func `flags, counts and rules in other spellings are read`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="A" parentEntity=""><attribute name="x" attributeType="String" optional="true"/>
            <relationship name="one" optional="YES" minCount="2" maxCount="5" destinationEntity="A" deletionRule="NoAction"/>
            <relationship name="many" toMany="YES" minCount="4" maxCount="2" destinationEntity="A" deletionRule=""/>
            <userInfo><entry value="a"/></userInfo></entity>
            """)
        let entity = model.entities[0]
        #expect(entity.attribute(named: "x")?.isOptional == true)
        #expect(entity.relationship(named: "one")?.deleteRule == .noAction)
        #expect(entity.relationship(named: "one")?.info["coredata.maxCount"] == "5")
        #expect(entity.relationship(named: "many")?.minimumCount == 4)
        #expect(entity.relationship(named: "many")?.maximumCount == nil)
        for notice in ["read as YES or NO", "count of a to-one", "below the 'minCount'", "without a key"] {
            #expect(model.notes.contains { $0.contains(notice) }, "\(model.notes)")
        }
        _ = try Graph(model)
    }

    @Test func `inverses that are inherited, missing or one-sided are given a meaning`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="Base"><attribute name="key" attributeType="String"/>
            <relationship name="owner" optional="YES" destinationEntity="Person" inverseName="items" inverseEntity="Person"/>
            </entity>
            <entity name="Sub" parentEntity="Base"/>
            <entity name="Person">
            <relationship name="items" optional="YES" toMany="YES" destinationEntity="Sub" inverseName="owner" inverseEntity="Base"/>
            <relationship name="others" optional="YES" toMany="YES" destinationEntity="Base" inverseName="owner" inverseEntity="Base"/>
            <relationship name="lost" optional="YES" destinationEntity="Sub" inverseName="nowhere" inverseEntity="Sub"/>
            </entity>
            """)
        let person = try #require(model.entity(named: "Person"))
        let items = try #require(person.relationship(named: "items"))
        #expect(model.entities[items.destinationIndex].name == "Base" && model.inverse(of: items)?.name == "owner")
        for name in ["others", "lost"] {
            #expect(person.relationship(named: name)?.inverseIndex == nil)
            #expect(person.relationship(named: name)?.info["coredata.inverseName"] != nil)
        }
        #expect(model.notes.contains { $0.contains("read as none: Person.others, Person.lost") }, "\(model.notes)")
        _ = try Graph(model)
    }

    @Test func `constraints and indexes over what has no column are kept without effect`() throws {
        let model = try model(
            """
            <attribute name="held" attributeType="String" transient="YES"/>
            <fetchIndex name="byHeld"><fetchIndexElement property="held"/></fetchIndex>
            <fetchIndex name="byKey"><fetchIndexElement property="key"/></fetchIndex>
            <compoundIndexes><compoundIndex><index value="gone"/></compoundIndex></compoundIndexes>
            <uniquenessConstraints><uniquenessConstraint><constraint value="held"/></uniquenessConstraint>
            <uniquenessConstraint><constraint value="key"/></uniquenessConstraint></uniquenessConstraints>
            """)
        let item = model.entities[0]
        #expect(item.indexes.map(\.name) == ["byKey"])
        #expect(item.uniquenessConstraints.map(\.properties) == [["key"]])
        #expect(item.info["coredata.uniquenessConstraint.held"] != nil)
        _ = try Graph(model)
    }
}
