import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct TransformableValueTests {
    struct Address: TransformableValue {
        var street = ""
        var city = ""
        var floors: [Int] = []
    }

    struct Size: TransformableValue {
        var width = 0.0
        static let sample = Size(width: 1)
    }

    final class House: TypedObject {
        @Identity var id: String
        @Field var address: Address
        @Field var former: Address?
        @Field var size: Size?
    }

    private let context: EditingContext

    init() throws {
        let model = try ObjectModel(name: "houses", entities: [House.self])
        context = try EditingContext(WriterContext(store: try Store.inMemory(model: model)))
    }

    @Test func `a Codable structure is a property, and JSON in the store`() throws {
        let house = try context.insert(House.self, id: "h")
        house.address = Address(street: "Low/High", city: "Köln", floors: [1, 2])
        try context.save()
        let object = try #require(house.managedObject)
        #expect(try object["address"] == #"{"city":"Köln","floors":[1,2],"street":"Low/High"}"#)
        context.refreshAll()
        #expect(house.address == Address(street: "Low/High", city: "Köln", floors: [1, 2]))
        #expect(house.former == nil)
        #expect(try object.value("address", as: Address.self)?.city == "Köln")
    }

    @Test func `a value that JSON cannot hold is refused`() throws {
        let house = try context.insert(House.self, id: "h")
        house.size = Size(width: .nan)
        let error = #expect(throws: EditingError.self) { try context.save() }
        #expect(error?.code == .type)
    }

    @Test func `a condition needs a sample of the type's own`() throws {
        let refused: TypedPredicate<House> = \.address == Address()
        let error = #expect(throws: FetchPredicateError.self) { try refused.predicate }
        #expect(error?.code == .unsupported)
        let taken: TypedPredicate<House> = \.size == Size(width: 2)
        let house = try context.insert(House.self, id: "h")
        house.address = Address(city: "Bonn")
        house.size = Size(width: 2)
        try context.save()
        #expect(try context.fetch(House.self, where: taken).map(\.id) == ["h"])
    }
}
