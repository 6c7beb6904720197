import Foundation
import IngestCore

@testable import GraphCore
@testable import ObjectGraph
@testable import SQLiteStorage

/// Conditions: refused with a remedy, or printed as text that reads the same, and true of the same objects in the store
/// and in memory.
struct PredicateTarget: FuzzTarget {
    private let store: Store
    private let entities: [Entity]

    init() throws {
        let model = try Models.load("work-orders")
        store = try Store.inMemory(model: model)
        let writer = try WriterContext(store: store)
        let decoder = try EventDecoder(model: model, format: .cloudevents, routes: [], place: "samples")
        let reader = try RecordFileReader(path: Models.root + "samples/work-orders.jsonl")
        while try reader.next({ record in
            let place = RecordPlace(topic: "samples", partition: 0, offset: Int64(record.number))
            guard let event = try? decoder.decode(SourceRecord(place: place, key: nil, value: record.value)) else {
                return
            }
            _ = try writer.apply(WriterContext.Chunk(events: [event]))
        }) {}
        try writer.commit()
        try writer.close()
        entities = model.entities.filter { !$0.isAbstract }
    }

    func take(_ bytes: UnsafeRawBufferPointer) throws {
        guard let first = bytes.first else { return }
        let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
        let entity = entities[Int(first) % entities.count]
        var request = FetchRequest(entity.name, where: text)
        request.sort = [entity.identity.name]
        let checked: CheckedFetchRequest
        do {
            let predicate = try FetchPredicate.parse(text)
            let again = try FetchPredicate.parse(predicate.description)
            if again != predicate { throw Broken("it prints otherwise: \(predicate)") }
            checked = try request.checked(with: store.model)
        } catch let error as FetchPredicateError {
            if error.description.isEmpty { throw Broken("an error without words") }
            return
        }
        do {
            let (found, judged) = try store.read { context in
                (try context.fetch(checked).map(\.pk), try Self.judged(checked, context))
            }
            if found != judged { throw Broken("the store finds \(found), memory \(judged): \(text)") }
        } catch let error as StoreError where error.code == .tooComplex {
        } catch let error as FetchPredicateError where error.code == .tooComplex {
        }
    }

    private static func judged(_ request: CheckedFetchRequest, _ context: ReadContext) throws -> [Int64] {
        let registry = ObjectRegistry(
            SQLiteWriterSession(try context.connection(), model: context.model), model: context.model,
            setDeletionThreshold: .max)
        let objects = RegistryObjects(registry: registry) { try registry.destinations(of: $0, $1) }
        let evaluator = PredicateEvaluator(objects, now: request.time)
        var all = FetchRequest(request.entity.name)
        all.sort = [request.entity.identity.name]
        return try context.fetch(all).compactMap { object in
            guard let row = try registry.object(entity: object.entity.index, pk: object.pk) else { return nil }
            if let predicate = request.predicate, try !evaluator.isTrue(predicate, of: row) { return nil }
            return object.pk
        }
    }
}
