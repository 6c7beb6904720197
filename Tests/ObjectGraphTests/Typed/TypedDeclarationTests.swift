import Foundation
import Testing

@testable import ObjectGraph

@Suite struct TypedDeclarationTests {
    @Test func classesDeclareTheModelThatAFileDeclares() throws {
        let declared = try Typed.model()
        let parsed = try ObjectModel.parse(Typed.yaml)
        #expect(declared.yaml == parsed.yaml)
        #expect(declared.hash == parsed.hash)
    }

    @Test func eachSwiftTypeStandsForAnAttributeType() throws {
        let model = try ObjectModel(name: "sample", entities: [Typed.Sample.self])
        let entity = try #require(model.entity(named: "Sample"))
        let types = Dictionary(uniqueKeysWithValues: entity.attributes.map { ($0.name, $0.type) })
        #expect(
            types == [
                "id": .uuid, "text": .string, "flag": .boolean, "small": .integer16, "middle": .integer32,
                "large": .integer64, "number": .double, "single": .float, "amount": .decimal, "time": .date,
                "link": .uri, "bytes": .binary, "list": .binary, "state": .string, "maybeText": .string,
                "maybeAmount": .decimal, "maybeState": .string, "maybeTime": .date,
            ])
        #expect(entity.attributes.filter(\.isOptional).map(\.name).allSatisfy { $0.hasPrefix("maybe") })
        #expect(entity.attributes.filter { !$0.isOptional }.count == 14)
    }

    @Test func aSubclassIsASubEntityWithOptionsOfItsOwn() throws {
        let model = try ObjectModel(
            name: "parties", entities: [Typed.Party.self, Typed.Person.self, Typed.Company.self])
        let party = try #require(model.entity(named: "Party"))
        let person = try #require(model.entity(named: "Person"))
        #expect(party.isAbstract)
        #expect(!person.isAbstract)
        #expect(person.parentIndex == party.index)
        #expect(person.attributes.map(\.name) == ["id", "name", "age"])
        #expect(person.relationship(named: "employer")?.destinationIndex == model.entity(named: "Company")?.index)
    }

    final class NoWayBack: TypedObject {
        @Identity var id: String
        @ToOne var other: NoWayBack?
    }

    @Test func aRelationshipThatNobodyGivesAnInverseIsRefusedWithItsLine() {
        let problems = modelProblems { _ = try ObjectModel(name: "x", entities: [NoWayBack.self]) }
        #expect(problems.count == 1)
        #expect(problems.first?.message == "The relationship NoWayBack.other has no inverse")
        #expect(problems.first?.file == "ObjectGraphTests/TypedDeclarationTests.swift")
        #expect(problems.first?.line == 43)
    }

    final class Wrong: TypedObject {
        @Identity var id: Double
        @Field(min: 9, max: 3) var count: Int
        @Field(pattern: "(") var text: String
        @Derived("nothing.@count") var sum: Int
    }

    @Test func whatAFileIsRefusedForAClassIsRefusedForWithItsLine() throws {
        let problems = modelProblems { _ = try ObjectModel(name: "x", entities: [Wrong.self]) }
        #expect(problems.contains { $0.line == 55 && $0.message == "Wrong.id cannot be an identity" })
        #expect(problems.contains { $0.line == 56 && $0.message.contains("min above its max") })
        #expect(problems.contains { $0.line == 57 && $0.message.contains("pattern") })
        #expect(problems.allSatisfy { $0.file == "ObjectGraphTests/TypedDeclarationTests.swift" })
    }

    @Test func aDestinationThatIsNotNamedIsRefused() {
        let problems = modelProblems { _ = try ObjectModel(name: "x", entities: [Typed.Chat.self]) }
        #expect(problems.contains { $0.description.contains("Message") })
    }

    final class OtherOptions: TypedObject {
        @Identity var id: String
        @Field var title: String

        override class var entityOptions: EntityOptions {
            EntityOptions(version: \Typed.Message.body, unique: [[\OtherOptions.title.count]], mergePolicy: "mine")
        }
    }

    @Test func optionsNameDeclaredPropertiesOfTheClass() {
        let problems = modelProblems { _ = try ObjectModel(name: "x", entities: [OtherOptions.self]) }
        #expect(problems.filter { $0.message.contains("leads to no declared property") }.count == 2)
        #expect(problems.contains { $0.message.contains("'mine' is no merge policy") })
    }
}
