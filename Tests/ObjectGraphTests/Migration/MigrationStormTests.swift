import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// From models made at random to models that differ in anything, in one stage or two: a migration makes a sound store of
/// the new model, the same in place and by copies that are interrupted, or says what stands against it and leaves the
/// old store as it was.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED=n Tests/run --filter MigrationStormTests` runs that one again,
/// and `INGEST_TEST_RUNS=n` makes the runs more.
@Suite struct MigrationStormTests {
    @Test func `every change migrates soundly or is refused unharmed`() throws {
        try Seeds.forEach(runs: 25) { seed in
            var changes = ModelChanges(seed: seed)
            let old = changes.original
            let new = changes.changed(old)
            var generator = EventGenerator(try ObjectModel.parse(old), seed: seed)
            let events = generator.events(25)
            for texts in [[new], [new, changes.changed(new)]] {
                let smallest = Shrinking.smallest(events, simpler: \.simpler) { events in
                    do { return try problem(from: old, events, through: texts, seed: seed) } catch { return "\(error)" }
                }
                guard let (events, problem) = smallest else { continue }
                let models = ([old] + texts).joined(separator: "\n→\n")
                let list = events.map { "  " + generator.model.text($0) }.joined(separator: "\n")
                Issue.record("seed \(seed): \(problem)\nevents:\n\(list)\n\(models)")
                return
            }
        }
    }

    private struct Fault: Error {}
    private struct Damage: Error { let text: String }

    /// Stages through the models, now and then with a mapping; where there are several, also with closures, which do
    /// nothing.
    private func stages(from old: String, through texts: [String], seed: UInt64) throws -> [MigrationStage] {
        let models = try ([old] + texts).map { try ObjectModel.parse($0) }
        var random = SeededGenerator(seed: seed ^ 0x7374_6167_6573)
        return zip(models, models.dropFirst()).map { source, target in
            let mapping = random.chance(50) ? mapping(from: source, to: target, &random) : nil
            if texts.count == 1 || random.chance(60) { return .lightweight(to: target, mapping: mapping) }
            return .custom(
                from: source, to: target, mapping: mapping, willMigrate: random.chance(50) ? { _ in } : nil,
                didMigrate: { _ in })
        }
    }

    /// Computes an attribute from any attribute of the old entity, or from the object's key.
    private func mapping(
        from source: ObjectModel, to target: ObjectModel, _ random: inout SeededGenerator
    ) -> MigrationMapping? {
        let matched = ModelMapping(from: source, to: target)
        guard
            let entity = target.entities.filter({ matched.source(of: $0).entity != nil }).randomElement(using: &random),
            let attribute = entity.attributes.filter({ !$0.isDerived }).randomElement(using: &random),
            let old = matched.source(of: entity).entity
        else { return nil }
        let inputs = old.attributes.map(\.name) + ["pk"]
        guard let input = inputs.randomElement(using: &random) else { return nil }
        return try? MigrationMapping.parse("entities: { \(entity.name): { \(attribute.name): \(input) } }")
    }

    private func problem(
        from old: String, _ events: [ChangeSet], through texts: [String], seed: UInt64
    ) throws -> String? {
        let stages = try stages(from: old, through: texts, seed: seed)
        guard let target = stages.last?.target else { return nil }
        var random = SeededGenerator(seed: seed ^ 0x6661_756c_7473)
        var results: [String] = []
        for threshold in [Int64.max, 0] {
            let fixture = try MigrationFixture(old) { try $0.apply(events) }
            let before = try fixture.dump()
            func migrate(failingAt step: Int) throws {
                var count = 0
                try fixture.migrator {
                    $0.copyRowThreshold = threshold
                    $0.copyBatchRows = 2
                    $0.allowsOlderModel = true
                    $0.willExecute = { _ in
                        count += 1
                        if count == step { throw Fault() }
                    }
                }.migrate(through: stages)
            }
            do {
                if threshold == 0 {
                    // Where it comes too late, the second call finds nothing left.
                    do { try migrate(failingAt: Int.random(in: 1...80, using: &random)) } catch is Fault {}
                }
                try migrate(failingAt: 0)
            } catch let error as MigrationError {
                results.append("\(error.code.rawValue) \(error.details.joined(separator: "; "))")
                if error.code == .failed { return "\(threshold): \(error)" }
                if error.remedy.isEmpty { return "\(error.code.rawValue) has no remedy" }
                if try fixture.dump() != before { return "a refused migration changed the store" }
                try fixture.expectOld()
                continue
            }
            let store = try Store.openForReading(path: fixture.path, model: target)
            let report = try store.verify()
            if !report.isSound { return "\(threshold): \(report.text)" }
            var text = ""
            try store.read { try $0.canonicalDump { text += $0 } }
            try store.close()
            results.append(text)
            try fixture.adopt(target, "seed \(seed)")
            // The store lives on under its new model.
            try fixture.use { graph in
                var generator = EventGenerator(target, seed: seed ^ 1)
                try graph.apply(generator.events(15))
                let damage = try graph.damage()
                if !damage.isEmpty { throw Damage(text: "after more events: \(damage)") }
            }
        }
        return results[0] == results[1] ? nil : "in place:\n\(results[0])\nby a copy:\n\(results[1])"
    }
}

/// Changes of a model's text, until a model comes of it.
struct ModelChanges {
    let original: String
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed ^ 0x6368_616e_6765)
        // Values beyond new limits are told and not refused, so limits stay out of it.
        original = ModelGenerator.yaml(seed: seed).replacing(/, (max|maxLength|minCount|maxCount): \d/, with: "")
    }

    mutating func changed(_ original: String) -> String {
        for _ in 0..<200 {
            var lines = original.split(separator: "\n").map(String.init)
            for _ in 0..<Int.random(in: 1...4, using: &random) { change(&lines) }
            let text = lines.joined(separator: "\n") + "\n"
            if text != original, (try? ObjectModel.parse(text)) != nil { return text }
        }
        return original
    }

    private mutating func change(_ lines: inout [String]) {
        guard let index = lines.indices.randomElement(using: &random) else { return }
        let line = lines[index]
        let isProperty = line.hasPrefix("      ")
        switch Int.random(in: 0..<12, using: &random) {
        case 0: if isProperty { remove(index, &lines) }
        case 1:
            if line == "    attributes:" {
                let options = ["", ", optional: true", ", default: 1", ", optional: true, unique: true"]
                lines.insert(
                    "      new: { type: integer64\(options.randomElement(using: &random) ?? "") }", at: index + 1)
            }
        case 2: lines[index] = toggled("optional: true", line)
        case 3: lines[index] = toggled("many: true", line)
        case 4: lines[index] = toggled("ordered: true", line)
        case 5:
            lines[index] = toggled(
                ["unique: true", "indexed: true", "transient: true"].randomElement(using: &random) ?? "", line)
        case 6:
            let types = ["string", "integer16", "integer64", "double", "decimal", "boolean", "date"]
            lines[index] = line.replacing(/type: \w+/, with: "type: \(types.randomElement(using: &random) ?? "string")")
        case 7:
            let rules = DeleteRule.allCases.map(\.rawValue)
            lines[index] = line.replacing(
                /delete: \w+/, with: "delete: \(rules.randomElement(using: &random) ?? "deny")")
        case 8: if isProperty { rename(index, &lines) }
        case 9:
            if line.hasPrefix("    parent:") || line.hasPrefix("    unique:") || line.hasPrefix("    abstract:") {
                lines.remove(at: index)
            }
        case 10: renameEntity(&lines)
        default:
            if line.hasPrefix("    identity:") { lines.insert("    abstract: true", at: index + 1) }
            if line.hasPrefix("    parent:") { lines.insert("    unique: [[id]]", at: index + 1) }
        }
    }

    private func toggled(_ option: String, _ line: String) -> String {
        guard line.hasPrefix("      ") else { return line }
        if line.contains(", \(option)") { return line.replacing(", \(option)", with: "") }
        return line.replacing(" }", with: ", \(option) }")
    }

    /// Removes a property, and the relationship that leads back.
    private func remove(_ index: Int, _ lines: inout [String]) {
        let inverse = lines[index].firstMatch(of: /inverse: (\w+)/).map { String($0.1) }
        let name = lines[index].trimmingCharacters(in: .whitespaces).prefix { $0 != ":" }
        lines.remove(at: index)
        if let inverse, inverse != "none", inverse != name {
            lines.removeAll { $0.hasPrefix("      \(inverse): {") }
        }
        lines.removeAll { $0.contains("derived: \(name).") }
        var place = lines.startIndex
        while place < lines.endIndex {
            let isSection = ["    relationships:", "    attributes:"].contains(lines[place])
            let isEmpty = place + 1 == lines.endIndex || !lines[place + 1].hasPrefix("      ")
            if isSection, isEmpty { lines.remove(at: place) } else { place += 1 }
        }
    }

    private mutating func rename(_ index: Int, _ lines: inout [String]) {
        guard let name = lines[index].firstMatch(of: /^      (\w+):/).map({ String($0.1) }), name != "id" else {
            return
        }
        let keeps = random.chance(80) ? ", renamedFrom: \(name) }" : " }"
        lines[index] = lines[index].replacing("      \(name):", with: "      \(name)x:").replacing(" }", with: keeps)
        for other in lines.indices where other != index {
            lines[other] = lines[other].replacing("inverse: \(name),", with: "inverse: \(name)x,")
                .replacing("derived: \(name).", with: "derived: \(name)x.")
                .replacing(".\(name).@sum", with: ".\(name)x.@sum")
            if lines[other].contains("unique: [[") {
                lines[other] = lines[other].replacing("[\(name),", with: "[\(name)x,").replacing(
                    " \(name),", with: " \(name)x,"
                )
                .replacing(" \(name)]", with: " \(name)x]")
            }
        }
        // A relationship that is its own inverse names itself.
        lines[index] = lines[index].replacing("inverse: \(name),", with: "inverse: \(name)x,")
    }

    private func renameEntity(_ lines: inout [String]) {
        guard let index = lines.firstIndex(where: { $0 == "  Bee:" || $0 == "  Ant:" }) else { return }
        let name = lines[index].trimmingCharacters(in: .whitespaces).replacing(":", with: "")
        lines = lines.map {
            $0.replacing("to: \(name),", with: "to: \(name)s,").replacing("parent: \(name)", with: "parent: \(name)s")
        }
        lines[index] = "  \(name)s:"
        lines.insert("    renamedFrom: \(name)", at: index + 1)
    }
}
