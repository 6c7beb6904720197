import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Models of published apps, where they are at hand: each version is read, counted, written as YAML and opened.
@Suite struct RealModelTests {
    private func occurrences(_ pattern: String, in text: String) -> Int {
        text.components(separatedBy: pattern).count - 1
    }

    @Test(arguments: CoreDataModels.realBundles)
    func `every version is read as it is`(bundle: String) throws {
        for file in CoreDataModelFile.versions(of: bundle) {
            let model = try ObjectModel.load(path: file.contents)
            let text = try String(contentsOfFile: file.contents, encoding: .utf8)
            let counts = model.counts
            #expect(counts.entities == occurrences("<entity ", in: text), "\(file.contents)")
            #expect(counts.attributes == occurrences("<attribute ", in: text), "\(file.contents)")
            #expect(counts.relationships == occurrences("<relationship ", in: text), "\(file.contents)")
            for (rule, name) in [
                (DeleteRule.cascade, "Cascade"), (.nullify, "Nullify"), (.deny, "Deny"), (.noAction, "No Action"),
            ] {
                #expect(counts.deleteRules[rule] ?? 0 == occurrences("deletionRule=\"\(name)\"", in: text))
            }
            let again = try ObjectModel.parse(model.yaml)
            #expect(again.hash == model.hash && again.yaml == model.yaml, "\(file.contents)")
            _ = try Graph(model)
        }
    }

    /// Each version with rows migrates to the next, in place and by a copy, to the same store.
    @Test(arguments: CoreDataModels.realBundles)
    func `every version migrates to the next`(bundle: String) throws {
        let versions = try CoreDataModelFile.versions(of: bundle).map { try ObjectModel.load(path: $0.contents) }
        for (old, new) in zip(versions, versions.dropFirst()) {
            let label = "\(bundle): \(old.version) → \(new.version)"
            let refused = ModelDifference(from: old, to: new).refusals
            #expect(refused.isEmpty, "\(label): \(refused)")
            var dumps: [String] = []
            for threshold in [Int64.max, 0] {
                let folder = try TemporaryFolder()
                let path = folder.path("store.sqlite")
                try fill(path, old, difference: ModelDifference(from: old, to: new))
                let before = try values(path, old)
                #expect(!before.isEmpty, "\(label)")
                var options = Migrator.Options()
                options.copyRowThreshold = threshold
                options.copyBatchRows = 2
                options.mapping = try constants(from: old, to: new)
                try Migrator(path: path, options: options).migrate(to: new)
                let store = try Store.open(path: path, model: new)
                let report = try store.verify()
                #expect(report.isSound, "\(label): \(report.text)")
                let kept = try compare(before, try values(store, new), from: old, to: new, label)
                #expect(kept > 0, "\(label): nothing could be compared")
                var text = ""
                try store.read { try $0.canonicalDump { text += $0 } }
                dumps.append(text)
                try store.close()
            }
            // A uuid that is made up is another one each time.
            let isRandom = new.entities.contains { entity in
                guard let before = old.entity(named: entity.name) else { return false }
                return entity.attributes.contains { $0.type == .uuid && before.attribute(named: $0.name) == nil }
            }
            if !isRandom { #expect(dumps[0] == dumps[1], "\(label)") }
        }
    }

    /// What the store has of each entity by name, its sub-entities' objects left out.
    private func values(_ store: Store, _ model: ObjectModel) throws -> [String: [Int64: FetchedObject]] {
        var values: [String: [Int64: FetchedObject]] = [:]
        for entity in model.entities where !entity.isAbstract {
            let objects = try store.read { try $0.fetch(FetchRequest(entity.name)) }.filter {
                $0.entity.name == entity.name
            }
            values[entity.name] = Dictionary(uniqueKeysWithValues: objects.map { ($0.pk, $0) })
        }
        return values.filter { !$0.value.isEmpty }
    }

    private func values(_ path: String, _ model: ObjectModel) throws -> [String: [Int64: FetchedObject]] {
        let store = try Store.open(path: path, model: model)
        defer { try? store.close() }
        return try values(store, model)
    }

    /// Expects that objects, values and links of what both models have are as they were; returns how many contents
    /// were compared.
    private func compare(
        _ before: [String: [Int64: FetchedObject]], _ after: [String: [Int64: FetchedObject]], from old: ObjectModel,
        to new: ObjectModel, _ label: String
    ) throws -> Int {
        // What a mapping computes, and what has another meaning under the same name.
        let mapped = Set(
            ModelDifference(from: old, to: new).changes.filter {
                [.madeRequired, .attributeRenamed, .relationshipRenamed].contains($0.kind)
            }.compactMap(\.property))
        var count = 0
        for (name, objects) in before {
            guard let was = old.entity(named: name), let now = new.entity(named: name), !now.isAbstract else {
                continue
            }
            #expect(Set(after[name]?.keys.map { $0 } ?? []) == Set(objects.keys), "\(label): objects of \(name)")
            var names = was.attributes.filter { attribute in
                guard let same = now.attribute(named: attribute.name) else { return false }
                return same.type == attribute.type && !attribute.isDerived && !same.isDerived
                    && !mapped.contains(attribute.name)
            }.map(\.name)
            names += was.relationships.filter { relationship in
                guard let same = now.relationship(named: relationship.name), same.isToMany == relationship.isToMany,
                    !mapped.contains(relationship.name)
                else { return false }
                let ends = (old.entities[relationship.destinationIndex], new.entities[same.destinationIndex])
                return ends.0.name == ends.1.name && ends.0.identity.name == ends.1.identity.name
            }.map(\.name)
            for property in names {
                for (pk, object) in objects {
                    let same = after[name]?[pk]
                    #expect(object[property] == same?[property], "\(label): \(name).\(property)")
                    #expect(
                        object.identities(of: property) == same?.identities(of: property),
                        "\(label): \(name).\(property)")
                    count += 1
                }
            }
        }
        return count
    }

    /// Fills a store with three objects of each entity, linked with each other.
    private func fill(_ path: String, _ model: ObjectModel, difference: ModelDifference) throws {
        let graph = try Graph(model, path: path)
        // A relationship that will lead to other entities can keep no links.
        let redirected = difference.changes.filter { $0.kind == .destinationChanged && $0.inference != .inferred }
            .map { "\($0.entity).\($0.property ?? "")" }
        for index in 0..<3 {
            for entity in model.entities where !entity.isAbstract {
                var isBound = false
                var operation = ObjectOperation(
                    .upsert, entity: entity.index, identity: value(entity.identity, entity, index))
                for attribute in entity.attributes where !attribute.isDerived && attribute.slot != entity.identitySlot {
                    operation.attributes.append(
                        ObjectOperation.AttributeValue(
                            slot: attribute.slot, value: value(attribute, entity, index)))
                }
                for relationship in entity.relationships {
                    let destination = model.entities[relationship.destinationIndex]
                    let inverse = model.inverse(of: relationship).map { "\(destination.name).\($0.name)" } ?? ""
                    if redirected.contains("\(entity.name).\(relationship.name)") || redirected.contains(inverse) {
                        if !relationship.isOptional, !relationship.isToMany { isBound = true }
                        continue
                    }
                    let near = value(destination.identity, destination, index)
                    // What becomes to-one can keep one link only; a one-to-many is filled from its other side.
                    let becomesOne = difference.changes.contains {
                        $0.kind == .madeToOne
                            && [relationship.name, model.inverse(of: relationship)?.name].contains($0.property)
                    }
                    let change: RelationshipChange
                    switch relationship.storage {
                    case .column: change = .one(near)
                    case .inverseColumn: continue
                    case .join:
                        let next = value(destination.identity, destination, (index + 1) % 3)
                        change = .edit(add: becomesOne ? [near] : [near, next], remove: [])
                    }
                    operation.relationships.append(
                        ObjectOperation.RelationshipValue(relationship: relationship.index, change: change))
                }
                let outcome = try graph.apply(ChangeSet(operation))[0]
                // Who needs a destination that the next version takes away has no objects that could migrate.
                #expect(
                    outcome == (isBound ? "validation.1570" : "applied"),
                    "\(path): \(model.text(ChangeSet(operation)))")
            }
        }
        try graph.writer.close()
        try graph.store.close()
    }

    private func value(_ attribute: Attribute, _ entity: Entity, _ index: Int) -> Value {
        switch attribute.type {
        case .string, .uri: .text("\(entity.name)-\(attribute.name)-\(index)")
        case .integer16, .integer32, .integer64: .integer(Int64(index + 1))
        case .double, .float: .double(Double(index) + 0.5)
        case .decimal: .text("\(index).5")
        case .boolean: .integer(Int64(index % 2))
        case .date: .integer(1_700_000_000_000_000 + Int64(index))
        case .uuid: .blob(Array("\(entity.tableName.prefix(12))0000000000000000".utf8.prefix(15)) + [UInt8(index)])
        case .binary: .blob([1, 2, UInt8(index)])
        case .transformable: .text("{\"n\":\(index)}")
        }
    }

    /// What the apps' own code gave to new required attributes without default.
    private func constants(from old: ObjectModel, to new: ObjectModel) throws -> MigrationMapping {
        var lines: [String] = []
        for change in ModelDifference(from: old, to: new).changes {
            guard case .checked = change.inference, change.kind == .attributeAdded || change.kind == .madeRequired,
                let entity = new.entity(named: change.entity), let name = change.property,
                let attribute = entity.attribute(named: name)
            else { continue }
            let isUnique =
                entity.identity.name == name || entity.uniquenessConstraints.contains { $0.properties.contains(name) }
            let text = attribute.type.text(of: value(attribute, entity, 0))
            let expression = !isUnique ? "'\(text)'" : attribute.type == .uuid ? "uuid()" : "'\(text)' + pk"
            for member in new.entities where member.isKind(of: entity) && old.entity(named: member.name) != nil {
                lines.append("  \(member.name): { \(name): \"\(expression)\" }")
            }
        }
        let grouped = Dictionary(grouping: lines) { String($0.prefix { $0 != "{" }) }
        let merged = grouped.map { head, lines in
            head + "{ " + lines.map { $0.dropFirst(head.count + 1).dropLast(1) }.joined(separator: ",") + " }"
        }
        return try MigrationMapping.parse("entities:\n" + (merged.isEmpty ? "  {}" : merged.joined(separator: "\n")))
    }
}
