import Foundation

@testable import GraphCore
@testable import GraphModel

/// Model files: refused with a place and a remedy, or written as YAML that reads the same, and good for a store.
struct ModelTarget: FuzzTarget {
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        try ModelPromises.check { try ObjectModel.parse(String(decoding: bytes, as: UTF8.self)) }
    }
}

/// The same for the XML of Core Data.
struct CoreDataTarget: FuzzTarget {
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        let file = CoreDataModelFile(contents: "fuzz.xcdatamodel/contents", name: "fuzz", version: "1")
        let loader = ModelLoader(checkCondition: IndexCondition.problem)
        try ModelPromises.check { try loader.parse([UInt8](bytes), file: file) }
    }
}

enum ModelPromises {
    static func check(_ load: () throws -> ObjectModel) throws {
        let model: ObjectModel
        do {
            model = try load()
        } catch let error as ModelError {
            if error.problems.isEmpty { throw Broken("an error without problems") }
            if error.problems.contains(where: { $0.remedy.isEmpty }) { throw Broken("a problem without remedy") }
            return
        }
        let text = model.yaml
        let again = try ObjectModel.parse(text)
        if again.yaml != text { throw Broken("the YAML changes when it is read again:\n\(text)\n---\n\(again.yaml)") }
        guard model.entities.count <= 12 else { return }
        let store = try Store.inMemory(model: model)
        try store.close()
    }
}
