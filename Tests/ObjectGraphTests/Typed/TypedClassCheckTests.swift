import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct TypedClassCheckTests {
    @Test func `classes are used with a model from a file`() throws {
        let model = try ObjectModel.parse(Typed.yaml)
        try model.use(Typed.types)
        let graph = try Graph(model)
        let context = try EditingContext(graph.writer)
        let chat = try context.insert(Typed.Chat.self, id: "c")
        chat.title = "Pumps"
        try context.save()
        #expect(try graph.value("Chat", "c", "title") == "Pumps")
    }

    /// Each property is wrong in a way of its own.
    final class Mistaken: TypedObject {
        override class var entityName: String { "Thing" }

        @Field var id: String
        @Field var missing: String
        @Field var number: String
        @Field var text: String
        @Field var sum: Int
        @ToOne(inverse: .none) var parts: Mistaken?
        @ToOne(inverse: .none) var owner: Typed.Sample?
    }

    static let thing = """
        model: things
        entities:
          Thing:
            identity: id
            attributes:
              id: { type: string }
              number: { type: integer32 }
              text: { type: string, optional: true }
              sum: { type: integer64, derived: parts.@count }
            relationships:
              parts: { to: Thing, many: true, inverse: none }
              owner: { to: Thing, inverse: none, optional: true }
        """

    @Test func `a class that does not fit the model is refused with all its properties and remedies`() throws {
        let model = try ObjectModel.parse(Self.thing)
        let problems = modelProblems { try model.use([Mistaken.self]) }
        let texts = problems.map { "\($0.message). \($0.remedy)" }
        #expect(
            texts == [
                "Mistaken.id is declared with @Field, which the model's attribute is not. Declare it with @Identity",
                "Mistaken.missing: the entity Thing has no attribute 'missing'. Known are: id, number, text, sum, parts, "
                    + "owner",
                "Mistaken.number is a String, the model's attribute is of type integer32. Declare it as Int32 or Int, or "
                    + "change the model",
                "Mistaken.text is not optional, the model's attribute is. Add a ? to its type",
                "Mistaken.sum is declared with @Field, which the model's attribute is not. Declare it with @Derived",
                "Mistaken.parts is declared with @ToOne, which the model's relationship is not. Declare it with @ToMany",
                "Mistaken.owner leads to Sample, in the model it leads to Thing. Declare it with the class of Thing",
                "The model things has no entity for the class Sample. Known are: Thing. A class of another name overrides "
                    + "entityName",
            ])
        #expect(problems[0].line == 23)
    }

    @Test func `the first use of a class checks it too`() throws {
        let graph = try Graph(try ObjectModel.parse(Self.thing))
        let context = try EditingContext(graph.writer)
        #expect(throws: ModelError.self) { try context.insert(Mistaken.self, id: "x") }
        #expect(throws: ModelError.self) { try graph.store.read { try $0.fetch(Mistaken.self) } }
    }

    @Test func `classes are read by many threads at once`() async throws {
        let model = try ObjectModel.parse(Typed.yaml)
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try model.use([Typed.Message.self])
                    let condition: TypedPredicate<Typed.Message> = \.chat?.title == "x"
                    return try condition.predicate.description
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(texts.count == 1)
    }
}
