import Foundation
import ObjectGraph

final class Garden: TypedObject {
    @Identity var id: String
    @Field(maxLength: 40) var name: String?
    @Derived("plants.@count") var plantsCount: Int
    @ToMany(inverse: \Plant.garden, delete: .cascade) var plants: [Plant]
}

final class Plant: TypedObject {
    @Identity var id: UUID
    @Field(minLength: 1) var name: String
    @Field var wateredAt: Date?
    @ToOne(required: true) var garden: Garden?
}

/// Keeps a garden in a store, and returns lines that say what the store has.
func tendGarden(at path: String) throws -> [String] {
    var lines: [String] = []

    // 1. Open the store. A new file gets the tables of the model.
    let model = try ObjectModel(name: "garden", entities: [Garden.self, Plant.self])
    let store = try Store.open(path: path, model: model)
    let writer = try WriterContext(store: store)
    defer { try? writer.close() }
    let context = try EditingContext(writer)

    // 2. Insert objects. Nothing is in the store before the save.
    let garden = try context.insert(Garden.self, id: "south")
    garden.name = "South garden"
    for name in ["Fern", "Rose"] {
        let plant = try context.insert(Plant.self)
        plant.name = name
        plant.garden = garden
    }
    lines.append("saved \(try context.save().inserted.count) objects")

    // 3. Break a rule. The save names each broken rule, and stores nothing.
    let lost = try context.insert(Plant.self)
    lost.name = "Moss"
    do {
        try context.save()
    } catch let error as EditingError where error.code == .validation {
        lines += error.failures.map(\.description)
        lost.garden = garden
        try context.save()
    }

    // 4. Read. A snapshot sees one commit, whatever a writer does meanwhile.
    let found = try store.read { try $0.fetch(FetchRequest("Plant", where: "garden.name BEGINSWITH 'South'")) }
    lines.append("\(found.count) plants, and the garden counts \(garden.plantsCount)")

    // 5. Delete. The rule 'cascade' deletes the plants, too.
    try context.delete(garden)
    let deleted = try context.save().deleted.count
    lines.append("deleted \(deleted) objects")

    // 6. Ask the history what happened.
    let changes = try store.history().changes
    lines.append(
        "the history has \(changes.count) changes, the last one: \(changes.last.map { "\($0.kind.name) \($0.entity)" } ?? "none")"
    )
    return lines
}
