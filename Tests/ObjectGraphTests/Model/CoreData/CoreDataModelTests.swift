import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import GraphModel

/// Every element and attribute of a `.xcdatamodel` file that has a meaning here.
@Suite struct CoreDataModelTests {
    private func attribute(_ text: String) throws -> Attribute {
        let model = try CoreDataModels.read("<entity name=\"Item\"><attribute name=\"x\" \(text)/></entity>")
        return try #require(model.entity(named: "Item")?.attribute(named: "x"))
    }

    // MARK: Attributes

    @Test(
        arguments: [
            ("Integer 16", AttributeType.integer16), ("Integer 32", .integer32), ("Integer 64", .integer64),
            ("Decimal", .decimal), ("Double", .double), ("Float", .float), ("String", .string), ("Boolean", .boolean),
            ("Date", .date), ("Binary", .binary), ("UUID", .uuid), ("URI", .uri), ("Transformable", .transformable),
            ("Undefined", .transformable), ("Composite", .transformable),
        ])
    func `reads each type`(name: String, type: AttributeType) throws {
        #expect(try attribute("attributeType=\"\(name)\"").type == type)
    }

    @Test func `an absent flag means no`() throws {
        let plain = try attribute("attributeType=\"String\"")
        #expect(!plain.isOptional && !plain.isIndexed && !plain.isPreservedAfterDeletion)
        let flagged = try attribute(
            "optional=\"YES\" attributeType=\"String\" indexed=\"YES\" preserveAfterDeletion=\"YES\"")
        #expect(flagged.isOptional && flagged.isIndexed && flagged.isPreservedAfterDeletion)
    }

    @Test func `reads defaults in Xcode's spellings`() throws {
        #expect(try attribute("attributeType=\"Integer 16\" defaultValueString=\"0.0\"").defaultValue == .integer(0))
        #expect(try attribute("attributeType=\"Boolean\" defaultValueString=\"YES\"").defaultValue == .integer(1))
        #expect(try attribute("attributeType=\"Double\" defaultValueString=\"-1\"").defaultValue == .double(-1))
        #expect(try attribute("attributeType=\"Decimal\" defaultValueString=\"0.0\"").defaultValue == .text("0"))
        #expect(try attribute("attributeType=\"String\" defaultValueString=\"\"").defaultValue == .text(""))
    }

    /// Dates in a model are seconds since 2001-01-01.
    @Test func `reads dates from their reference date`() throws {
        let date = try attribute(
            "attributeType=\"Date\" defaultDateTimeInterval=\"0\" minDateTimeInterval=\"-86400\" maxDateTimeInterval=\"0.5\""
        )
        #expect(date.display(date.defaultValue) == "2001-01-01T00:00:00Z")
        #expect(date.display(date.constraints.minimum) == "2000-12-31T00:00:00Z")
        #expect(date.display(date.constraints.maximum) == "2001-01-01T00:00:00.500Z")
    }

    @Test func `limits of texts are lengths others are values`() throws {
        let text = try attribute("attributeType=\"String\" minValueString=\"2\" maxValueString=\"8\"")
        #expect(text.constraints.minimumLength == 2 && text.constraints.maximumLength == 8)
        let number = try attribute("attributeType=\"Integer 32\" minValueString=\"2\" maxValueString=\"8.0\"")
        #expect(number.constraints.minimum == .integer(2) && number.constraints.maximum == .integer(8))
    }

    /// Core Data's regular expressions match the whole value (`SELF MATCHES`).
    @Test func `a regular expression matches the whole value`() throws {
        let text = try attribute("attributeType=\"String\" regularExpressionString=\"a|b\"")
        #expect(throws: Never.self) { try text.check(.text("b"), entity: "Item") }
        #expect(throws: ValidationFailure.self) { try text.check(.text("ab"), entity: "Item") }
    }

    @Test func `transient attributes have no column`() throws {
        let model = try CoreDataModels.read(
            "<entity name=\"Item\"><attribute name=\"x\" attributeType=\"String\" transient=\"YES\" optional=\"YES\"/></entity>"
        )
        #expect(model.entities[0].attribute(named: "x") == nil)
        #expect(model.entities[0].transientAttribute(named: "x")?.isOptional == true)
        #expect(model.counts.attributes == 1)
    }

    // MARK: Relationships

    private let pair = """
        <entity name="Box" versionHashModifier="2" elementID="Crate">
            <attribute name="key" attributeType="String"/>
            <relationship name="items" optional="YES" toMany="YES" minCount="2" maxCount="5" deletionRule="Cascade" ordered="YES" destinationEntity="Item" inverseName="box" inverseEntity="Item"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="key"/></uniquenessConstraint></uniquenessConstraints>
        </entity>
        <entity name="Item">
            <relationship name="box" maxCount="1" deletionRule="Deny" destinationEntity="Box" inverseName="items" inverseEntity="Box"/>
            <relationship name="lost" optional="YES" maxCount="1" deletionRule="No Action" destinationEntity="Box"/>
            <relationship name="others" toMany="YES" destinationEntity="Item"/>
        </entity>
        """

    @Test func `reads relationships`() throws {
        let model = try CoreDataModels.read(pair)
        let items = try #require(model.entity(named: "Box")?.relationship(named: "items"))
        #expect(items.isToMany && items.isOrdered && items.isOptional && items.deleteRule == .cascade)
        #expect(items.minimumCount == 2 && items.maximumCount == 5)
        #expect(model.inverse(of: items)?.name == "box")
        let item = try #require(model.entity(named: "Item"))
        let box = try #require(item.relationship(named: "box"))
        #expect(!box.isToMany && !box.isOptional && box.deleteRule == .deny && box.maximumCount == nil)
        let lost = try #require(item.relationship(named: "lost"))
        #expect(lost.deleteRule == .noAction && model.inverse(of: lost) == nil)
    }

    @Test func `an absent delete rule means nullify`() throws {
        let model = try CoreDataModels.read(pair)
        let others = try #require(model.entity(named: "Item")?.relationship(named: "others"))
        #expect(others.deleteRule == .nullify)
        #expect(model.counts.deleteRules == [.cascade: 1, .deny: 1, .noAction: 1, .nullify: 1])
    }

    /// An empty set is no missing value: only a minimum count asks for a destination.
    @Test func `a required to-many may be empty without minimum count`() throws {
        let model = try CoreDataModels.read(pair)
        let others = try #require(model.entity(named: "Item")?.relationship(named: "others"))
        #expect(others.isOptional && others.minimumCount == 0)
    }

    // MARK: Entities

    @Test func `reads hierarchies indexes and renaming`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="Task" isAbstract="YES" representedClassName="TaskMO">
                <attribute name="id" attributeType="UUID"/>
                <attribute name="title" attributeType="String" elementID="name" versionHashModifier="3"/>
                <attribute name="rank" attributeType="Integer 16" defaultValueString="0"/>
                <fetchIndex name="byTitle">
                    <fetchIndexElement property="title" type="Binary" order="descending"/>
                    <fetchIndexElement property="rank" type="Binary" order="ascending"/>
                </fetchIndex>
                <fetchIndex name="byRank"><fetchIndexElement property="rank" type="RTree" order="ascending"/></fetchIndex>
                <compoundIndexes><compoundIndex><index value="rank"/><index value="id"/></compoundIndex></compoundIndexes>
                <uniquenessConstraints>
                    <uniquenessConstraint><constraint value="title"/><constraint value="rank"/></uniquenessConstraint>
                    <uniquenessConstraint><constraint value="id"/></uniquenessConstraint>
                </uniquenessConstraints>
            </entity>
            <entity name="Visit" parentEntity="Task" syncable="YES"/>
            """)
        let task = try #require(model.entity(named: "Task"))
        #expect(task.isAbstract && task.className == "TaskMO" && task.identity.name == "id")
        #expect(task.attribute(named: "title")?.renamedFrom == "name")
        #expect(task.attribute(named: "title")?.hashModifier == "3")
        #expect(task.indexes.map(\.text) == ["byTitle: title descending,rank", "byRank: rank", "rank,id"])
        #expect(task.uniquenessConstraints.map(\.properties).contains(["title", "rank"]))
        let visit = try #require(model.entity(named: "Visit"))
        #expect(visit.tableName == "Task" && visit.attribute(named: "rank") != nil)
        #expect(model.counts.attributes == 3)
        #expect(model.notes.contains { $0.contains("RTree") })
    }

    // MARK: Identities

    @Test func `the user info names identity and version`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="Item">
                <attribute name="code" attributeType="String"/>
                <attribute name="changed" attributeType="Date"/>
                <userInfo><entry key="identity" value="code"/><entry key="version" value="changed"/><entry key="a" value="b"/></userInfo>
            </entity>
            """)
        let item = model.entities[0]
        #expect(item.identity.name == "code" && item.versionSlot == item.attribute(named: "changed")?.slot)
        #expect(item.info == ["a": "b"])
    }

    /// An optional attribute identifies only where somebody says so: objects without it could not be addressed.
    @Test func `the first suitable constraint identifies`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="Item">
                <attribute name="maybe" attributeType="UUID" optional="YES"/>
                <attribute name="raw" attributeType="Binary"/>
                <attribute name="code" attributeType="String"/>
                <uniquenessConstraints>
                    <uniquenessConstraint><constraint value="maybe"/></uniquenessConstraint>
                    <uniquenessConstraint><constraint value="raw"/></uniquenessConstraint>
                    <uniquenessConstraint><constraint value="code"/></uniquenessConstraint>
                </uniquenessConstraints>
            </entity>
            """)
        #expect(model.entities[0].identity.name == "code")
    }

    @Test func `an entity without identity gets a hidden one`() throws {
        let model = try CoreDataModels.read(
            "<entity name=\"Item\"><attribute name=\"x\" attributeType=\"String\"/></entity>")
        #expect(model.entities[0].identity.name == "_identity" && model.entities[0].identity.type == .uuid)
        #expect(model.counts.attributes == 1)
        #expect(model.notes.contains { $0.contains("_identity") && $0.contains("Item") })
        _ = try Graph(model)
    }

    // MARK: What has no meaning here

    @Test func `elements without a meaning here are kept and reported once`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="Item" syncable="YES" codeGenerationType="class">
                <attribute name="x" attributeType="Transformable" valueTransformerName="T" usesScalarValueType="NO"/>
                <attribute name="y" attributeType="Binary" allowsExternalBinaryDataStorage="YES" usesScalarValueType="NO"/>
                <fetchedProperty name="recent"><fetchRequest name="f" entity="Item" predicateString="x != nil"/></fetchedProperty>
            </entity>
            <fetchRequest name="all" entity="Item" predicateString="x &gt; 1 &amp;&amp; y == &quot;a&quot;"/>
            <configuration name="Cloud"><memberEntity name="Item"/></configuration>
            <elements><element name="Item" positionX="1"/></elements>
            """)
        let item = model.entities[0]
        #expect(item.info["coredata.syncable"] == "YES")
        #expect(item.info["coredata.fetchedProperty.recent"]?.contains("x != nil") == true)
        #expect(item.attribute(named: "x")?.info["coredata.valueTransformerName"] == "T")
        #expect(
            model.declaration.info["coredata.fetchRequest.all"]
                == "<fetchRequest name=\"all\" entity=\"Item\" predicateString=\"x &gt; 1 &amp;&amp; y == &quot;a&quot;\"/>"
        )
        #expect(model.declaration.info["coredata.configuration.Cloud"]?.contains("memberEntity") == true)
        let lines = model.notes.filter { $0.contains("usesScalarValueType") }
        #expect(lines.count == 1 && lines[0].contains("usesScalarValueType (2)"))
    }

    // MARK: Mistakes

    @Test(
        arguments: [
            ("<entity><attribute name=\"x\" attributeType=\"String\"/></entity>", "contents:3: An entity has no name"),
            (
                "<entity name=\"A\">\n<attribute name=\"x\" attributeType=\"Text\"/></entity>",
                "contents:4: 'Text' is no"
            ),
            (
                "<entity name=\"A\"><attribute name=\"x\"\n attributeType=\"Integer 16\" defaultValueString=\"seven\"/></entity>",
                "contents:4: 'defaultValueString' of A.x is no integer16"
            ),
            (
                "<entity name=\"A\"><attribute name=\"x\" optional=\"perhaps\" attributeType=\"String\"/></entity>",
                "contents:3: 'optional' is neither YES nor NO"
            ),
            (
                "<entity name=\"A\"><relationship name=\"b\"/></entity>",
                "contents:3: The relationship A.b has no destination"
            ),
            (
                "<entity name=\"A\"><relationship name=\"b\" destinationEntity=\"B\"/></entity>",
                "contents:3: A.b leads to 'B', which is no entity"
            ),
            ("<entity name=\"A\"><attribute name=\"x\"></entity>", "contents:3: This is no XML"),
            ("<entity name=\"A\" name=\"B\"/>", "stands twice"), ("<entity name=\"&evil;\"/>", "is not known"),
            ("", "The model has no entities"),
        ])
    func `refuses mistakes with their place`(entities: String, problem: String) {
        let problems = CoreDataModels.problems(entities)
        #expect(problems.contains { $0.contains(problem) }, "\(problems)")
    }

    @Test func `refuses document types and deep nesting`() {
        let bomb = "<!DOCTYPE m [<!ENTITY a \"aaaa\">]><model><entity name=\"&a;\"/></model>"
        #expect(throws: ModelError.self) { try CoreDataModels.readDocument(bomb) }
        let deep = String(repeating: "<a>", count: 40) + String(repeating: "</a>", count: 40)
        #expect(throws: ModelError.self) { try CoreDataModels.readDocument("<model>\(deep)</model>") }
        #expect(throws: ModelError.self) { try CoreDataModels.readDocument("<plist/>") }
    }

    // MARK: Folders

    private func write(_ folder: TemporaryFolder, _ name: String, _ entity: String) throws {
        let path = folder.url.appendingPathComponent("Shop.xcdatamodeld/\(name).xcdatamodel")
        try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        try CoreDataModels.xml("<entity name=\"\(entity)\"/>")
            .write(to: path.appendingPathComponent("contents"), atomically: true, encoding: .utf8)
    }

    @Test func `a folder of versions has a current one`() throws {
        let folder = try TemporaryFolder()
        for (name, entity) in [("Shop", "A"), ("Shop 10", "C"), ("Shop 9", "B")] { try write(folder, name, entity) }
        let bundle = folder.path("Shop.xcdatamodeld")
        // Without a current version it is the first.
        #expect(try ObjectModel.load(path: bundle).entities[0].name == "A")
        #expect(CoreDataModelFile.versions(of: bundle).map(\.version) == ["1", "9", "10"])
        func setCurrent(_ name: String) throws {
            let list =
                "<plist version=\"1.0\"><dict><key>_XCCurrentVersionName</key><string>\(name)</string></dict></plist>"
            try list.write(toFile: bundle + "/.xccurrentversion", atomically: true, encoding: .utf8)
        }
        try setCurrent("Shop 10.xcdatamodel")
        let model = try ObjectModel.load(path: bundle + "/")
        #expect(model.entities[0].name == "C" && model.name == "Shop" && model.version == "10")
        #expect(try ObjectModel.load(path: bundle + "/Shop 9.xcdatamodel").entities[0].name == "B")
        try setCurrent("Shop 11.xcdatamodel")
        #expect(throws: ModelError.self) { try ObjectModel.load(path: bundle) }
    }
}
