import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct TypedDeclarationTests {
    @Test func `classes declare the model that a file declares`() throws {
        let declared = try Typed.model()
        let parsed = try ObjectModel.parse(Typed.yaml)
        #expect(declared.yaml == parsed.yaml)
        #expect(declared.hash == parsed.hash)
    }

    @Test func `each Swift type stands for an attribute type`() throws {
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

    @Test func `a subclass is a sub-entity with options of its own`() throws {
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

    @Test func `a relationship that nobody gives an inverse is refused with its line`() {
        let problems = modelProblems { _ = try ObjectModel(name: "x", entities: [NoWayBack.self]) }
        #expect(problems.count == 1)
        #expect(problems.first?.message == "The relationship NoWayBack.other has no inverse")
        #expect(problems.first?.file == "ObjectGraphTests/TypedDeclarationTests.swift")
        #expect(problems.first?.line == 44)
    }

    final class Wrong: TypedObject {
        @Identity var id: Double
        @Field(min: 9, max: 3) var count: Int
        @Field(pattern: "(") var text: String
        @Derived("nothing.@count") var sum: Int
    }

    @Test func `a class is refused for the mistakes of a model file, with its line`() throws {
        let problems = modelProblems { _ = try ObjectModel(name: "x", entities: [Wrong.self]) }
        #expect(problems.contains { $0.line == 56 && $0.message == "Wrong.id cannot be an identity" })
        #expect(problems.contains { $0.line == 57 && $0.message.contains("min above its max") })
        #expect(problems.contains { $0.line == 58 && $0.message.contains("pattern") })
        #expect(problems.allSatisfy { $0.file == "ObjectGraphTests/TypedDeclarationTests.swift" })
    }

    @Test func `a destination that is not named is refused`() {
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

    @Test func `options name declared properties of the class`() {
        let problems = modelProblems { _ = try ObjectModel(name: "x", entities: [OtherOptions.self]) }
        #expect(problems.filter { $0.message.contains("leads to no declared property") }.count == 2)
        #expect(problems.contains { $0.message.contains("'mine' is no merge policy") })
    }

    final class Draft: TypedObject {
        @Identity var id: String
        @Field var title: String?
        @Field var size: Int = 0
        @Field var changedAt: Date?
        @Field(maxLength: 3, transient: true) var mark: String?
        @Field(transient: true) var weight: Int = 7

        override class var entityOptions: EntityOptions {
            EntityOptions(indexes: [
                [\Draft.title, \Draft.size],
                EntityOptions.Index("recent", on: [.ascending(\Draft.size), .descending(\Draft.changedAt)]),
                EntityOptions.Index(on: [.function(.lowercase, \Draft.title), .ascending(\Draft.size)]),
                EntityOptions.Index("large", on: [.ascending(\Draft.title)], where: \Draft.size > 9 && \.title != nil),
            ])
        }
    }

    private static let draft = """
        model: drafts
        entities:
          Draft:
            identity: id
            attributes:
              id: { type: string }
              title: { type: string, optional: true }
              size: { type: integer64, default: 0 }
              changedAt: { type: date, optional: true }
              mark: { type: string, optional: true, maxLength: 3, transient: true }
              weight: { type: integer64, default: 7, transient: true }
            indexes:
              - [title, size]
              - { name: recent, on: [size, { property: changedAt, descending: true }] }
              - { on: [{ expression: "lowercase:(title)" }, size] }
              - { name: large, on: [title], where: "size > 9 AND title != nil" }
        """

    @Test func `transient attributes and all kinds of indexes are declared`() throws {
        let declared = try ObjectModel(name: "drafts", entities: [Draft.self])
        #expect(declared.yaml == (try ObjectModel.parse(Self.draft)).yaml)
        #expect(declared.entities[0].transientAttributes.map(\.name) == ["mark", "weight"])
    }

    @Test func `a transient attribute is held by its context only`() throws {
        let graph = try Graph(try ObjectModel(name: "drafts", entities: [Draft.self]))
        let context = try EditingContext(graph.writer)
        let draft = try context.insert(Draft.self, id: "d")
        #expect(draft.weight == 7 && draft.mark == nil)
        draft.mark = "long"
        #expect(editingError { try context.save() }?.failures.map(\.code) == [1660])
        draft.mark = "ok"
        try context.save()
        #expect(draft.mark == "ok")
        #expect(try graph.column("SELECT name FROM pragma_table_info('Draft') WHERE name = 'mark'") == [])
        let other = try EditingContext(graph.writer)
        #expect(try other.object(Draft.self, id: "d")?.mark == nil)
        #expect(try graph.store.read { try $0.fetch(Draft.self) }.map(\.mark) == [nil])
    }

    final class StoredDraft: TypedObject {
        @Identity var id: String
        @Field var mark: String?

        override class var entityName: String { "Draft" }
    }

    @Test func `a class that takes a transient attribute for a stored one is refused`() throws {
        let model = try ObjectModel.parse(Self.draft)
        try model.use([Draft.self])
        let problems = modelProblems { try model.use([StoredDraft.self]) }
        #expect(
            problems.map(\.message) == ["StoredDraft.mark is not transient, the model's attribute is"])
    }

    final class WrongIndexes: TypedObject {
        @Identity var id: String
        @Field var title: String?
        @Field var size: Int = 0

        override class var entityOptions: EntityOptions {
            EntityOptions(indexes: [
                EntityOptions.Index(on: [.ascending(\WrongIndexes.id)], where: \Draft.size > 3),
                EntityOptions.Index(on: [.ascending(\WrongIndexes.title)], where: \WrongIndexes.title!.count > 3),
            ])
        }
    }

    final class UnfitIndexes: TypedObject {
        @Identity var id: String
        @Field var size: Int = 0
        @Field(transient: true) var mark: String?

        override class var entityOptions: EntityOptions {
            EntityOptions(indexes: [
                EntityOptions.Index("a b", on: [.function(.uppercase, \UnfitIndexes.size)]), [\UnfitIndexes.mark],
                EntityOptions.Index(on: [.ascending(\UnfitIndexes.size)], where: .contains(\UnfitIndexes.id, "x")),
            ])
        }
    }

    @Test func `indexes that do not fit are refused with their place`() {
        let wrong = modelProblems { _ = try ObjectModel(name: "x", entities: [WrongIndexes.self]) }
        #expect(wrong.contains { $0.message == "The condition of an index of WrongIndexes is one on Draft" })
        #expect(wrong.contains { $0.message.hasPrefix("The condition of an index of WrongIndexes cannot be read") })
        let unfit = modelProblems { _ = try ObjectModel(name: "x", entities: [UnfitIndexes.self]) }
        #expect(unfit.contains { $0.message.contains("is no text and has no case") })
        #expect(unfit.contains { $0.message == "'mark' in an index of UnfitIndexes has no column" })
        #expect((wrong + unfit).allSatisfy { $0.file == "ObjectGraphTests/TypedDeclarationTests.swift" })
    }
}
