import ObjectGraph
import Testing

@testable import GraphCore

/// Of a `.xcdatamodel` file nothing is passed over in silence: what has no meaning where it stands is kept and reported
/// once, what contradicts is refused with its place.
@Suite struct CoreDataKeptTests {
    // MARK: Kept

    @Test(
        arguments: [
            ("Date", "minValueString", "1"), ("Date", "maxValueString", "2"), ("Date", "defaultValueString", "now"),
            ("Date", "regularExpressionString", "a"), ("String", "minDateTimeInterval", "0"),
            ("Integer 16", "maxDateTimeInterval", "0"), ("Boolean", "defaultDateTimeInterval", "0"),
            ("Transformable", "defaultDateTimeInterval", "0"), ("Integer 32", "regularExpressionString", "[0-9]"),
            ("Binary", "regularExpressionString", "a"), ("UUID", "regularExpressionString", "a"),
            ("UUID", "minValueString", "3"), ("Boolean", "maxValueString", "1"),
            ("String", "derivationExpression", "now()"),
        ])
    func `settings that a type does not use are kept`(type: String, key: String, value: String) throws {
        let model = try CoreDataModels.read(
            "<entity name=\"Item\"><attribute name=\"x\" attributeType=\"\(type)\" \(key)=\"\(value)\"/></entity>")
        let attribute = try #require(model.entities[0].attribute(named: "x"))
        #expect(attribute.info == ["coredata.\(key)": value])
        #expect(attribute.constraints.isEmpty && attribute.defaultValue.isNull && !attribute.isDerived)
        #expect(model.notes.filter { $0.contains("\(key) (1)") }.count == 1, "\(model.notes)")
    }

    @Test func `a limit of the other kind does not stand in the way of its own`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="Item">
                <attribute name="x" attributeType="Date" minDateTimeInterval="0" minValueString="1" derived="NO" derivationExpression="now()"/>
                <attribute name="y" attributeType="Integer 16" minDateTimeInterval="0" minValueString="1" optional="YES"/>
            </entity>
            """)
        let item = model.entities[0]
        #expect(item.attribute(named: "x")?.constraints.minimum.isNull == false)
        #expect(item.attribute(named: "y")?.constraints.minimum == .integer(1))
        #expect(item.attribute(named: "x")?.isDerived == false)
        #expect(model.notes.contains { $0.contains("minDateTimeInterval (1), minValueString (1)") })
    }

    @Test func `settings that a to-one relationship does not use are kept`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="Item">
                <relationship name="a" optional="YES" ordered="YES" minCount="1" maxCount="1" destinationEntity="Item"/>
                <relationship name="b" minCount="0" maxCount="0" destinationEntity="Item" inverseEntity="Item"/>
            </entity>
            """)
        let item = model.entities[0]
        let (first, second) = try (
            #require(item.relationship(named: "a")), #require(item.relationship(named: "b"))
        )
        #expect(first.info == ["coredata.ordered": "YES"] && !first.isOrdered && first.isOptional)
        #expect(second.info == ["coredata.inverseEntity": "Item"] && !second.isOptional)
        #expect(!first.hasCountLimits && !second.hasCountLimits)
        #expect(model.notes.contains { $0.contains("inverseEntity (1)") && $0.contains("ordered (1)") })
    }

    /// Such an index is named after its properties; what Xcode called it stays readable.
    @Test func `an index name that cannot be used is kept and reported`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="Item">
                <attribute name="x" attributeType="String"/>
                <fetchIndex name="by x"><fetchIndexElement property="x" type="Binary" order="ascending"/></fetchIndex>
                <fetchIndex name="plain"><fetchIndexElement property="x" order="descending" collation="a"/></fetchIndex>
            </entity>
            """)
        #expect(model.entities[0].indexes.map(\.text) == ["x", "plain: x descending"])
        #expect(model.entities[0].info["coredata.fetchIndex.by x"]?.contains("property=\"x\"") == true)
        #expect(model.entities[0].info["coredata.fetchIndex.plain"]?.contains("collation=\"a\"") == true)
        #expect(model.notes.filter { $0.contains("contents:5: 'by x' of Item cannot name an index") }.count == 1)
        #expect(model.notes.contains { $0.contains("collation (1)") })
        _ = try Graph(model)
    }

    // MARK: Refused

    @Test(
        arguments: [
            (
                "<attribute name=\"x\" attributeType=\"Date\"\n derived=\"YES\"/>",
                "contents:4: Item.x is derived and has no expression"
            ),
            (
                "<relationship name=\"x\" minCount=\"few\" destinationEntity=\"Item\"/>",
                "contents:4: 'minCount' is no whole number"
            ),
            (
                "<fetchIndex name=\"i\">\n<fetchIndexElement property=\"key\" order=\"up\"/></fetchIndex>",
                "contents:5: 'up' is no order of an element, in the index Item.i"
            ),
            (
                "<fetchIndex name=\"i\"><fetchIndexElement property=\"key\" type=\"Hash\"/></fetchIndex>",
                "contents:4: 'Hash' is no type of an element, in the index Item.i"
            ),
            (
                "<fetchIndex name=\"i\"><fetchIndexElement property=\"key\" expression=\"key\"/></fetchIndex>",
                "contents:4: An element of the index Item.i has a property and an expression"
            ),
        ])
    func `contradicting settings are refused with their place`(content: String, problem: String) {
        let problems = CoreDataModels.problems(
            "<entity name=\"Item\"><attribute name=\"key\" attributeType=\"String\"/>\n\(content)</entity>")
        #expect(problems.contains { $0.contains(problem) }, "\(problems)")
    }
}
