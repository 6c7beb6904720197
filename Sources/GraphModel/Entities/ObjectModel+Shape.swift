extension ObjectModel {
    /// The model's shape as text: what a store's tables and derived values depend on, in a fixed order.
    ///
    /// Limits, defaults and delete rules are left out, as in Core Data's version hashes: changing them needs no other
    /// store. A rule changed from or to 'no action' is kept, for it changes a column's declaration.
    package var shape: String {
        entities.sorted { $0.name < $1.name }.map { entity in
            let attributes = entity.ownAttributes.sorted { $0.name < $1.name }.map { attribute in
                [
                    "a", attribute.name, attribute.type.rawValue, attribute.isUnique ? "unique" : "",
                    attribute.isIndexed ? "indexed" : "", attribute.derivation?.text(in: entity, self) ?? "",
                ].joined(separator: " ") + suffix(attribute.hashModifier)
            }
            let relationships = entity.ownRelationships.sorted { $0.name < $1.name }.map { relationship in
                let destination = entities[relationship.destinationIndex]
                let inverse = inverse(of: relationship)
                return [
                    "r", relationship.name, relationship.isToMany ? "many" : "one", destination.name,
                    inverse?.name ?? "none", inverse?.deleteRule.leavesDanglingReferences == true ? "loose" : "",
                ].joined(separator: " ") + (relationship.isOrdered ? " ordered" : "")
                    + suffix(relationship.hashModifier)
            }
            // Unique attributes say so themselves.
            let constraints = entity.ownUniquenessConstraints.filter { constraint in
                constraint.slots.count > 1 || entity.attribute(named: constraint.properties[0])?.isUnique != true
            }.map { "u " + $0.properties.joined(separator: ",") }.sorted()
            let indexes = entity.indexes.map { "i " + $0.text }.sorted()
            let version = entity.versionSlot.map { entity.slotNames[$0] } ?? ""
            var head = "e \(entity.name) \(entity.identity.name) \(version)"
            if let parent = entity.parentIndex { head += " parent \(entities[parent].name)" }
            if entity.isAbstract { head += " abstract" }
            head += suffix(entity.hashModifier)
            return ([head] + attributes + relationships + constraints + indexes).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private func suffix(_ modifier: String?) -> String { modifier.map { " modifier \(JSONText.string($0))" } ?? "" }

    /// A short text that equal shapes share and different ones do not: 64-bit FNV-1a in hexadecimal.
    public var hash: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in shape.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension EntityIndex {
    /// The index in one line; of a mere list of properties, their names with commas between.
    package var text: String {
        if isPlain { return properties.joined(separator: ",") }
        let elements = elements.map { element in
            (element.function.map { "\($0.rawValue):(\(element.property))" } ?? element.property)
                + (element.isDescending ? " descending" : "")
        }
        return (name.map { "\($0): " } ?? "") + elements.joined(separator: ",")
            + (predicate.map { " where \($0)" } ?? "")
    }
}

extension ArithmeticExpression {
    /// The expression with all its parentheses.
    func text(_ entity: Entity) -> String {
        switch self {
        case .number(let text): text
        case .attribute(let slot): entity.attributes[slot].name
        case .negated(let operand): "(-\(operand.text(entity)))"
        case .binary(let operation, let left, let right):
            "(\(left.text(entity)) \(operation.rawValue) \(right.text(entity)))"
        }
    }
}

extension DerivedExpression {
    /// The expression as a model file states it.
    public func text(in entity: Entity, _ model: ObjectModel) -> String {
        switch self {
        case .count(let relationship): return "\(entity.relationships[relationship].name).@count"
        case .aggregate(let function, let relationship, let slot):
            let relationship = entity.relationships[relationship]
            let source = model.entities[relationship.destinationIndex].attributes[slot].name
            return "\(relationship.name).\(source).\(function.rawValue)"
        case .keyPath(let path):
            var names: [String] = []
            var last = entity
            for index in path.relationships {
                names.append(last.relationships[index].name)
                last = model.entities[last.relationships[index].destinationIndex]
            }
            names.append(last.attributes[path.slot].name)
            let text = names.joined(separator: ".")
            return path.transformation.map { "\($0.rawValue):(\(text))" } ?? text
        case .now: return "now()"
        case .arithmetic(let expression): return expression.text(entity)
        }
    }
}
