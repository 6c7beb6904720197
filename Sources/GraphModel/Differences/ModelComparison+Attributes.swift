// Changes of an entity's attributes, inherited ones included.
extension ModelComparison {
    mutating func compareAttributes(_ entity: Entity, _ source: Entity) {
        let matched = mapping.source(of: entity).attributes
        for attribute in entity.attributes {
            if let before = matched[attribute.name] {
                compare(attribute, before, entity, source)
            } else {
                noteAdded(attribute, entity, source)
            }
        }
        let kept = Set(matched.values.map(\.name))
        for attribute in source.attributes where !kept.contains(attribute.name) {
            noteRemoved(attribute, entity, source)
        }
    }

    private mutating func noteAdded(_ attribute: Attribute, _ entity: Entity, _ source: Entity) {
        let declaring = new.entities[attribute.entityIndex]
        let isFilled =
            attribute.isOptional || attribute.isDerived || !attribute.defaultValue.isNull
            || attribute.name == HiddenIdentity.name
        let inference: Inference =
            isFilled ? .inferred : .checked("it is required and has no default: there may be no objects yet")
        if source.transientAttribute(named: attribute.name) != nil {
            note(
                .transientChanged, declaring.name, attribute.name, old: "transient", new: "stored", inference: inference
            )
        } else {
            note(
                .attributeAdded, declaring.name, attribute.name, new: attribute.type.rawValue, inference: inference)
        }
    }

    private mutating func noteRemoved(_ attribute: Attribute, _ entity: Entity, _ source: Entity) {
        let declaring = old.entities[attribute.entityIndex]
        let now = mapping.target(of: declaring)
        if entity.transientAttribute(named: attribute.name) != nil {
            note(
                .transientChanged, now?.name ?? declaring.name, attribute.name, old: "stored", new: "transient",
                inference: .inferred)
            return
        }
        // An attribute that moved down the hierarchy leaves its abstract parent without loss.
        let isMoved = mapping.sources.contains { other in
            other.attributes.values.contains { $0.entityIndex == attribute.entityIndex && $0.name == attribute.name }
        }
        if isMoved, source.isAbstract { return }
        note(
            .attributeRemoved, now?.name ?? declaring.name, attribute.name, old: attribute.type.rawValue,
            inference: .inferred)
    }

    private mutating func compare(_ attribute: Attribute, _ before: Attribute, _ entity: Entity, _ source: Entity) {
        let declaring = new.entities[attribute.entityIndex]
        let name = attribute.name
        compare(.attributeRenamed, declaring, name, before.name, name, .inferred)
        compareHome(.attributeMoved, declaring, name, old.entities[before.entityIndex])
        compareType(attribute, before, declaring)
        if before.isOptional != attribute.isOptional { noteOptionality(attribute, declaring) }
        compare(
            .derivationChanged, declaring, name, before.derivation?.text(in: source, old),
            attribute.derivation?.text(in: entity, new), .inferred)
        compare(
            .defaultChanged, declaring, name, Self.text(before.defaultValue, before),
            Self.text(attribute.defaultValue, attribute), .unneeded)
        compare(.limitsChanged, declaring, name, Self.limits(before), Self.limits(attribute), .unneeded)
        compare(
            .indexedChanged, declaring, name, before.isIndexed ? "indexed" : nil,
            attribute.isIndexed ? "indexed" : nil, .inferred)
        compare(
            .preservationChanged, declaring, name, before.isPreservedAfterDeletion ? "preserved" : nil,
            attribute.isPreservedAfterDeletion ? "preserved" : nil, .unneeded)
        compare(.hashModifierChanged, declaring, name, before.hashModifier, attribute.hashModifier, .inferred)
        if before.info != attribute.info { note(.informationChanged, declaring.name, name, inference: .unneeded) }
    }

    private mutating func compareType(_ attribute: Attribute, _ before: Attribute, _ declaring: Entity) {
        guard before.type != attribute.type else { return }
        let inference: Inference
        if attribute.isDerived {
            inference = .inferred
        } else {
            switch ValueConversion(from: before.type, to: attribute.type)?.safety {
            case .sameForm, .always: inference = .inferred
            case .checked: inference = .checked("each value has to fit without loss")
            case nil:
                inference = .refused(
                    "a value of type \(before.type.rawValue) cannot become one of type \(attribute.type.rawValue)")
            }
        }
        note(
            .typeChanged, declaring.name, attribute.name, old: before.type.rawValue, new: attribute.type.rawValue,
            inference: inference)
    }

    private mutating func noteOptionality(_ attribute: Attribute, _ declaring: Entity) {
        if attribute.isOptional {
            note(.madeOptional, declaring.name, attribute.name, inference: .unneeded)
            return
        }
        let isFilled = !attribute.defaultValue.isNull || attribute.isDerived
        note(
            .madeRequired, declaring.name, attribute.name,
            new: isFilled ? "default \(Self.text(attribute.defaultValue, attribute) ?? "")" : nil,
            inference: isFilled ? .inferred : .checked("it has no default: each object needs a value"))
    }

    private static func text(_ value: Value, _ attribute: Attribute) -> String? {
        value.isNull ? nil : attribute.display(value)
    }

    /// The limits of an attribute in words, or nil where it has none.
    package static func limits(_ attribute: Attribute) -> String? {
        let limits = attribute.constraints
        var texts: [String] = []
        if !limits.minimum.isNull { texts.append("min \(attribute.display(limits.minimum))") }
        if !limits.maximum.isNull { texts.append("max \(attribute.display(limits.maximum))") }
        if let length = limits.minimumLength { texts.append("minLength \(length)") }
        if let length = limits.maximumLength { texts.append("maxLength \(length)") }
        if let pattern = limits.pattern { texts.append("pattern \(pattern.source)") }
        return texts.isEmpty ? nil : texts.joined(separator: ", ")
    }
}
