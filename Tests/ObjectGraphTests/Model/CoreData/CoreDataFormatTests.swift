import ObjectGraph
import Testing

@testable import GraphCore

/// What the format of `.xcdatamodel` files has besides: each attribute and element has its meaning or is kept.
@Suite struct CoreDataFormatTests {
    static let model = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" systemVersion="23A" minimumToolsVersion="Automatic" sourceLanguage="Swift" usedWithCloudKit="YES" usedWithSwiftData="NO" userDefinedModelVersionIdentifier="two">
            <entity name="Article" representedClassName="ArticleMO" syncable="YES" codeGenerationType="category">
                <attribute name="key" attributeType="String"/>
                <attribute name="words" attributeType="Integer 32" defaultValueString="0" usesScalarValueType="YES"/>
                <attribute name="title" optional="YES" attributeType="String" spotlightIndexingEnabled="YES"/>
                <attribute name="folded" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(title)"/>
                <attribute name="changedAt" optional="YES" attributeType="Date" derived="YES" derivationExpression="now()"/>
                <attribute name="journalName" optional="YES" attributeType="String" derived="YES" derivationExpression="journal.name"/>
                <attribute name="colour" optional="YES" attributeType="Transformable" valueTransformerName="NSSecureUnarchiveFromData" customClassName="UIColor"/>
                <attribute name="scan" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES" maxValueString="4"/>
                <attribute name="place" optional="YES" attributeType="Composite" compositeAttribute="Place"/>
                <relationship name="journal" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Journal" inverseName="articles" inverseEntity="Journal"/>
                <relationship name="draft" optional="YES" transient="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Journal"/>
                <fetchIndex name="recent" partialIndexPredicate="words &gt; 10">
                    <fetchIndexElement expression="lowercase:(title)" expressionType="String" type="Binary" order="ascending"/>
                </fetchIndex>
                <uniquenessConstraints><uniquenessConstraint><constraint value="key"/></uniquenessConstraint></uniquenessConstraints>
                <userInfo><entry key="owner" value="desk"/></userInfo>
            </entity>
            <entity name="Journal" syncable="YES">
                <attribute name="name" attributeType="String"/>
                <attribute name="wordCount" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="articles.words.@sum"/>
                <attribute name="articleCount" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="articles.@count"/>
                <relationship name="articles" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Article" inverseName="journal" inverseEntity="Article"/>
                <uniquenessConstraints><uniquenessConstraint><constraint value="name"/></uniquenessConstraint></uniquenessConstraints>
            </entity>
            <compositeAttribute name="Place"><attribute name="street" attributeType="String"/></compositeAttribute>
            <configuration name="Cloud"><memberEntity name="Journal"/></configuration>
        </model>
        """

    @Test func `derived attributes are computed as in other models`() throws {
        let graph = try Graph(try CoreDataModels.readDocument(Self.model))
        try graph.apply(
            graph.upsert("Article", "a", ["title": "Über", "words": 3, "journal": "j"]), graph.upsert("Journal", "j"),
            graph.upsert("Article", "b", ["words": 20, "journal": "j"]))
        #expect(try graph.rows("SELECT wordCount, articleCount FROM Journal") == [[23, 2]])
        #expect(
            try graph.rows("SELECT folded, journalName, changedAt IS NULL FROM Article ORDER BY key")
                == [["uber", "j", 0], [nil, "j", 0]])
        #expect(
            try graph.apply(graph.upsert("Article", "a", ["scan": .value(.blob([1, 2, 3, 4, 5]))])) == [
                "validation.1660"
            ])
        #expect(try graph.damage() == "")
    }

    @Test func `partial and expression indexes are made`() throws {
        let model = try CoreDataModels.readDocument(Self.model)
        let article = try #require(model.entity(named: "Article"))
        #expect(article.indexes.map(\.text) == ["recent: lowercase:(title) where words > 10"])
        let graph = try Graph(model)
        let sql = try graph.column("SELECT sql FROM sqlite_master WHERE type = 'index' AND name LIKE '%recent%'")
        #expect(sql.count == 1 && sql[0].text?.contains("lower(") == true && sql[0].text?.contains("> 10") == true)
    }

    @Test func `a transient relationship has no place in the store`() throws {
        let graph = try Graph(try CoreDataModels.readDocument(Self.model))
        #expect(try graph.column("SELECT name FROM pragma_table_info('Article') WHERE name = 'draft'") == [])
    }

    @Test func `the settings of a model file are kept`() throws {
        let info = try CoreDataModels.readDocument(Self.model).declaration.info
        let kept = [
            "usedWithCloudKit": "YES", "usedWithSwiftData": "NO", "userDefinedModelVersionIdentifier": "two",
            "documentVersion": "1.0", "lastSavedToolsVersion": "22522", "sourceLanguage": "Swift",
        ]
        for (name, value) in kept { #expect(info["coredata.\(name)"] == value, "\(name)") }
        #expect(info["coredata.compositeAttribute.Place"]?.contains("street") == true)
    }

    @Test func `further settings of an attribute are kept`() throws {
        let article = try #require(try CoreDataModels.readDocument(Self.model).entity(named: "Article"))
        #expect(article.className == "ArticleMO" && article.info["owner"] == "desk")
        #expect(article.attribute(named: "colour")?.info["coredata.customClassName"] == "UIColor")
        #expect(article.attribute(named: "title")?.info["coredata.spotlightIndexingEnabled"] == "YES")
        #expect(article.attribute(named: "scan")?.info["coredata.allowsExternalBinaryDataStorage"] == "YES")
        #expect(article.attribute(named: "place")?.info["coredata.compositeAttribute"] == "Place")
        #expect(article.attribute(named: "words")?.info["coredata.usesScalarValueType"] == "YES")
    }
}
