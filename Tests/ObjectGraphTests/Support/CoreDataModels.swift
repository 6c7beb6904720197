import Foundation
import ObjectGraph

@testable import GraphCore

/// Core Data models as Xcode writes them, small ones of our own and, where they are there, real ones.
enum CoreDataModels {
    static func xml(_ entities: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522">
        \(entities)
        </model>
        """
    }

    /// Reads the XML of entities; the first entity stands on line 3.
    static func read(_ entities: String, name: String = "Shop", version: String = "1") throws -> ObjectModel {
        try readDocument(xml(entities), name: name, version: version)
    }

    static func readDocument(_ text: String, name: String = "Shop", version: String = "1") throws -> ObjectModel {
        let file = CoreDataModelFile(contents: "Shop.xcdatamodel/contents", name: name, version: version)
        return try parse(text, file)
    }

    /// Reads the XML of a model that stands in a file.
    static func parse(_ xml: String, _ file: CoreDataModelFile) throws(ModelError) -> ObjectModel {
        try ModelLoader(checkCondition: IndexCondition.problem).parse(Array(xml.utf8), file: file)
    }

    /// The problems of a model that is refused.
    static func problems(_ entities: String) -> [String] {
        do throws(ModelError) {
            let file = CoreDataModelFile(contents: "contents", name: "Shop", version: "1")
            _ = try parse(xml(entities), file)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    /// The folders of real models beside the package, each with versions; none where they are not there.
    static var realBundles: [String] {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let folder = root.deletingLastPathComponent().appendingPathComponent("shared/data/models").path
        guard let files = FileManager.default.enumerator(atPath: folder) else { return [] }
        return files.compactMap { $0 as? String }.filter { $0.hasSuffix(".xcdatamodeld") }.sorted()
            .map { "\(folder)/\($0)" }
    }
}
