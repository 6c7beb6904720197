import Foundation
import ObjectGraph

/// Entities are classes: the compiler checks names and types.
final class Talk: TypedObject {
    @Identity var id: String
    @Field(maxLength: 40) var title: String?
    @ToMany(inverse: \Remark.talk, delete: .cascade) var remarks: [Remark]
}

final class Remark: TypedObject {
    @Identity var id: UUID
    @Field var body: String
    @Field var sentAt: Date?
    @ToOne(required: true) var talk: Talk?
}

/// Keeps talks in a store: first with typed objects, then by names. Returns what it says of them.
func keepTalks(at path: String) throws -> [String] {
    let model = try ObjectModel(name: "talks", entities: [Talk.self, Remark.self])
    let store = try Store.open(path: path, model: model)
    let writer = try WriterContext(store: store)
    defer { try? writer.close() }
    let context = try EditingContext(writer)
    var said: [String] = []

    // Typed: a save stores everything, or throws and stores nothing.
    let talk = try context.insert(Talk.self, id: "pumps")
    talk.title = "Pumps"
    let remark = try context.insert(Remark.self)
    remark.body = "It runs again."
    remark.sentAt = Date()
    do {
        try context.save()
    } catch let error as EditingError where error.code == .validation {
        said += error.failures.map(\.description)  // Remark.talk is required
        remark.talk = talk
        said.append("saved \(try context.save().inserted.count)")
    }

    // By names, where the model is not known before the program runs.
    let dayAgo = Date(timeIntervalSinceNow: -86_400)
    let request = FetchRequest("Remark", where: "talk = %@ AND sentAt > %@", talk, dayAgo)
    for object in try context.fetch(request) {
        try object.set("sentAt", dayAgo)
        try object.set("body", "It ran again.")
    }
    let result = try context.save()
    said.append("updated \(result.updated.count), conflicts \(result.conflicts.count)")

    // Readers have snapshots; the history tells what was saved.
    let remarks = try store.read { try $0.fetch(FetchRequest("Remark", where: "sentAt <= %@", dayAgo)) }
    said += try remarks.compactMap { try $0.value("body", as: String.self) }
    said += try store.history().changes.map { "\($0.kind.name) \($0.entity)" }.suffix(1)
    return said
}
