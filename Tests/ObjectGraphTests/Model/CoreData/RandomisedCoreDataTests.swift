import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import GraphModel
@testable import SQLiteStorage

/// Models made at random, written as Xcode does with settings left behind, are the models that they were written from:
/// their stores take events, and migrate.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED=n swift test --filter RandomisedCoreDataTests` runs that one
/// again, and `INGEST_TEST_RUNS=n` makes the runs more.
@Suite struct RandomisedCoreDataTests {
    @Test func `a model means the same with all that Xcode leaves behind`() throws {
        try forEachSeed(ofRuns: 100) { seed, declaration, read in
            var found = read.declaration
            found.name = declaration.name
            found.version = declaration.version
            #expect(Self.text(found) == Self.text(declaration), "seed \(seed)")
        }
    }

    @Test func `its stores take events, and migrate to the model that lacks those settings`() throws {
        try forEachSeed(ofRuns: 10) { seed, declaration, read in
            let workspace = try TemporaryFolder()
            let path = workspace.path("store.sqlite")
            let graph = try Graph(read, path: path)
            var generator = EventGenerator(read, seed: seed)
            try graph.apply(generator.events(30))
            #expect(try graph.damage() == "", "seed \(seed)")
            try graph.writer.close()
            let plain = try ObjectModel.parse(YAMLModelWriter(declaration).text)
            try Migrator(path: path).migrate(to: plain)
            let store = try Store.openForReading(path: path, model: plain)
            let report = try store.verify()
            #expect(report.isSound, "seed \(seed): \(report.text)")
        }
    }

    private func forEachSeed(
        ofRuns runs: UInt64, _ body: (UInt64, ModelDeclaration, ObjectModel) throws -> Void
    ) throws {
        try Seeds.forEach(runs: runs) { seed in
            // Core Data says of a constraint what a YAML file may say of an attribute.
            let yaml = ModelGenerator.yaml(seed: seed).replacing(", unique: true", with: "")
            let declaration = try ObjectModel.parse(yaml).declaration
            let xml = XcodeModelWriter.xml(declaration, seed: seed)
            do {
                try body(seed, declaration, try CoreDataModels.readDocument(xml))
            } catch {
                Issue.record("seed \(seed): \(error)\n\(yaml)\n\(xml)")
            }
        }
    }

    /// A declaration without what is kept for people and tools; 1 and 1.0 are the same number.
    private static func text(_ declaration: ModelDeclaration) -> String {
        var plain = declaration
        plain.info = [:]
        for entity in plain.entities.indices {
            plain.entities[entity].info = [:]
            for index in plain.entities[entity].attributes.indices {
                plain.entities[entity].attributes[index].info = [:]
            }
            for index in plain.entities[entity].relationships.indices {
                plain.entities[entity].relationships[index].info = [:]
            }
        }
        return YAMLModelWriter(plain).text.replacing(/: "(\d+)\.0"/) { ": \"\($0.1)\"" }
    }
}
