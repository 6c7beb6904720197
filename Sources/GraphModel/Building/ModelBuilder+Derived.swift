// Derived attributes: from their texts to what the store computes.
extension ModelBuilder {
    /// How many derived attributes an entity may have: a set of them is kept in 64 bits.
    private static let maximumDerivedCount = 62

    mutating func derivation(
        _ attribute: AttributeDeclaration, of entity: EntityDeclaration
    ) -> DerivedExpression? {
        guard let derived = attribute.derived, !isUnclear(expression: derived.content, of: entity) else { return nil }
        let site = Site(attribute: attribute, entity: entity, line: derived.line)
        do {
            switch try DerivedExpressionParser.parse(derived.content) {
            case .aggregate(let relationship, let function, let name):
                return aggregate(relationship, function, name, site)
            case .keyPath(let path, let transformation): return keyPath(path, transformation, site)
            case .now:
                if attribute.type == .date { return .now }
                report(site.line, "\(site.label) is now() and no date", "Give it the type date")
                return nil
            case .arithmetic(let node):
                guard isNumeric(site) else { return nil }
                return arithmetic(node, site).map { .arithmetic($0) }
            }
        } catch {
            report(
                derived.line, "The expression of \(site.label) is wrong: \(error.message)",
                "Write as in 'members.@count', 'lines.amount.@sum', 'chat.title', 'canonical:(title)', 'now()' or "
                    + "'price * (1 + taxRate)'")
            return nil
        }
    }

    /// The derived attribute that is being resolved.
    private struct Site {
        let attribute: AttributeDeclaration
        let entity: EntityDeclaration
        let line: Int?

        var label: String { "\(entity.name).\(attribute.name)" }
    }

    private mutating func isNumeric(_ site: Site) -> Bool {
        if site.attribute.type.isNumeric { return true }
        report(site.line, "\(site.label) is derived and no number", "Give it a numeric type")
        return false
    }

    private func destination(_ relationship: RelationshipDeclaration) -> EntityDeclaration? {
        declaration.entities.first { $0.name == relationship.destination.content }
    }

    // MARK: Aggregates

    private mutating func aggregate(
        _ name: String, _ operation: String, _ attribute: String?, _ site: Site
    ) -> DerivedExpression? {
        guard let index = site.entity.relationships.firstIndex(where: { $0.name == name && $0.isToMany }) else {
            report(
                site.line, "'\(name)' in \(site.label) is no to-many relationship of \(site.entity.name)", "Name one")
            return nil
        }
        guard let attribute, let function = AggregateFunction(rawValue: operation) else {
            return isNumeric(site) ? .count(relationship: index) : nil
        }
        let destinationName = site.entity.relationships[index].destination.content
        let destination = destination(site.entity.relationships[index])
        guard let destination, let slot = slot(attribute, of: destination),
            let source = destination.attributes.first(where: { $0.name == attribute })
        else {
            report(
                site.line, "'\(attribute)' in \(site.label) is no attribute of \(destinationName)",
                "Name one of its attributes")
            return nil
        }
        switch function {
        case .sum, .average:
            guard isNumeric(site) else { return nil }
            guard source.type.isNumeric else {
                report(site.line, "'\(attribute)' in \(site.label) is no number", "Use a numeric attribute")
                return nil
            }
        case .minimum, .maximum:
            guard source.type.hasExtremes else {
                report(
                    site.line, "'\(attribute)' in \(site.label) has no least and greatest value",
                    "Use a number, a date or a text")
                return nil
            }
            guard holds(source, site) else { return nil }
        }
        return .aggregate(function, relationship: index, slot: slot)
    }

    private mutating func holds(_ source: AttributeDeclaration, _ site: Site) -> Bool {
        if site.attribute.type.canHold(source.type) { return true }
        report(
            site.line,
            "\(site.label) is \(site.attribute.type.rawValue) and takes the value of a \(source.type.rawValue)",
            "Give it the type \(source.type.rawValue)")
        return false
    }

    // MARK: Key paths

    private mutating func keyPath(
        _ path: [String], _ transformation: TextTransformation?, _ site: Site
    ) -> DerivedExpression? {
        guard let (relationships, entity) = steps(path.dropLast(), site) else { return nil }
        guard let name = path.last, let slot = slot(name, of: entity),
            let source = entity.attributes.first(where: { $0.name == name })
        else {
            report(
                site.line, "'\(path.last ?? "")' in \(site.label) is no attribute of \(entity.name)",
                "Name an attribute, derived or not")
            return nil
        }
        if transformation != nil {
            guard site.attribute.type == .string, source.type == .string || source.type == .uri else {
                report(site.line, "\(site.label) transforms what is no text", "Use attributes of the type string")
                return nil
            }
        } else if relationships.isEmpty, source.type.isNumeric, site.attribute.type.isNumeric,
            !site.attribute.type.canHold(source.type)
        {
            return .arithmetic(.attribute(slot: slot))
        } else if !holds(source, site) {
            return nil
        }
        return .keyPath(DerivedKeyPath(relationships: relationships, slot: slot, transformation: transformation))
    }

    /// Follows the relationships to one object that a key path names, to the last entity.
    private mutating func steps(
        _ names: ArraySlice<String>, _ site: Site
    ) -> (relationships: [Int], entity: EntityDeclaration)? {
        var entity = site.entity
        var relationships: [Int] = []
        for name in names {
            guard let index = entity.relationships.firstIndex(where: { $0.name == name }),
                let next = destination(entity.relationships[index])
            else {
                report(site.line, "'\(name)' in \(site.label) is no relationship of \(entity.name)", "Name one")
                return nil
            }
            if entity.relationships[index].isToMany {
                report(
                    site.line, "'\(name)' in \(site.label) leads to many objects",
                    "Use an aggregate such as '\(name).@count', or a to-one relationship")
                return nil
            }
            relationships.append(index)
            entity = next
        }
        return (relationships, entity)
    }

    // MARK: Arithmetic

    private mutating func arithmetic(_ node: DerivedSyntax.Node, _ site: Site) -> ArithmeticExpression? {
        switch node {
        case .number(let text): return .number(text)
        case .negated(let operand): return arithmetic(operand, site).map { .negated($0) }
        case .binary(let operation, let left, let right):
            guard let left = arithmetic(left, site), let right = arithmetic(right, site) else { return nil }
            return .binary(operation, left, right)
        case .name(let name):
            guard let slot = slot(name, of: site.entity),
                site.entity.attributes.contains(where: { $0.name == name && $0.type.isNumeric })
            else {
                report(
                    site.line, "'\(name)' in \(site.label) is no numeric attribute of \(site.entity.name)", "Name one")
                return nil
            }
            return .attribute(slot: slot)
        }
    }

    // MARK: The whole model

    /// Refuses derived attributes that depend on themselves, over any number of entities.
    mutating func checkDerivations(_ entities: [Entity]) {
        for root in entities where root.parentIndex == nil {
            let members = entities.filter { $0.rootIndex == root.index }
            guard members.reduce(0, { $0 + $1.ownAttributes.count(where: \.isDerived) }) > Self.maximumDerivedCount
            else { continue }
            report(
                declaration.entities[root.index].line,
                "\(root.name) has more than \(Self.maximumDerivedCount) derived attributes, sub-entities included",
                "Move some to another entity")
        }
        let circle = DerivationOrder(entities).circle
        guard let first = circle.first else { return }
        let names = (circle + [first]).map {
            "\(entities[$0.entity].name).\(entities[$0.entity].attributes[$0.slot].name)"
        }
        let name = entities[first.entity].attributes[first.slot].name
        let declared = declaration.entities[first.entity].attributes.first { $0.name == name }
        report(
            declared?.derived?.line ?? declared?.line,
            "Derived attributes depend on each other: \(names.joined(separator: " reads "))",
            "Break the circle: let one of them be stored, or read a stored attribute")
    }
}

extension AttributeType {
    /// Tells whether values have a least and a greatest among them.
    var hasExtremes: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .double, .float, .decimal, .date, .string, .uri: true
        case .boolean, .uuid, .binary, .transformable: false
        }
    }

    /// Tells whether each value of another type is one of this type, in the same stored form.
    func canHold(_ other: AttributeType) -> Bool {
        if self == other { return true }
        if let range = integerRange, let inner = other.integerRange {
            return range.contains(inner.lowerBound) && range.contains(inner.upperBound)
        }
        return self == .double && other == .float || self == .string && other == .uri
    }
}
