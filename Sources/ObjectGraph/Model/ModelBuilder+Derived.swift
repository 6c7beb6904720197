// Derived attributes: from their texts to what the store computes.
extension ModelBuilder {
    mutating func derivation(
        _ attribute: AttributeDeclaration, of entity: EntityDeclaration
    ) -> DerivedExpression? {
        guard let derived = attribute.derived else { return nil }
        let label = "\(entity.name).\(attribute.name)"
        guard attribute.type.isNumeric else {
            report(derived.line, "\(label) is derived and no number", "Give it a numeric type")
            return nil
        }
        do {
            switch try DerivedExpressionParser.parse(derived.content) {
            case .aggregate(let path, let function):
                return aggregate(path, function, of: entity, label, derived.line)
            case .arithmetic(let node):
                return arithmetic(node, of: entity, label, derived.line).map { .arithmetic($0) }
            }
        } catch {
            report(
                derived.line, "The expression of \(label) is wrong: \(error.message)",
                "Write as in 'members.@count', 'lines.amount.@sum' or 'price * (1 + taxRate)'")
            return nil
        }
    }

    private mutating func aggregate(
        _ path: [String], _ function: String, of entity: EntityDeclaration, _ label: String, _ line: Int?
    ) -> DerivedExpression? {
        guard let relationship = entity.relationships.firstIndex(where: { $0.name == path[0] && $0.isToMany }) else {
            report(line, "'\(path[0])' in \(label) is no to-many relationship of \(entity.name)", "Name one")
            return nil
        }
        if function == "@count", path.count == 1 { return .count(relationship: relationship) }
        guard function == "@sum", path.count == 2 else {
            report(
                line, "'\(function)' in \(label) is not understood",
                "Use 'relationship.@count' or 'relationship.attribute.@sum'")
            return nil
        }
        let destination = declaration.entities.first {
            $0.name == entity.relationships[relationship].destination.content
        }
        guard let destination, let slot = slot(path[1], of: destination),
            let summed = destination.attributes.first(where: { $0.name == path[1] }), summed.type.isNumeric,
            summed.derived == nil
        else {
            report(
                line,
                "'\(path[1])' in \(label) is no stored number of \(entity.relationships[relationship].destination.content)",
                "Sum over a stored numeric attribute")
            return nil
        }
        return .sum(relationship: relationship, slot: slot)
    }

    private mutating func arithmetic(
        _ node: DerivedSyntax.Node, of entity: EntityDeclaration, _ label: String, _ line: Int?
    ) -> ArithmeticExpression? {
        switch node {
        case .number(let text): return .number(text)
        case .negated(let operand):
            return arithmetic(operand, of: entity, label, line).map { .negated($0) }
        case .binary(let operation, let left, let right):
            guard let left = arithmetic(left, of: entity, label, line),
                let right = arithmetic(right, of: entity, label, line)
            else { return nil }
            return .binary(operation, left, right)
        case .name(let name):
            guard let slot = slot(name, of: entity),
                entity.attributes.contains(where: { $0.name == name && $0.type.isNumeric })
            else {
                report(line, "'\(name)' in \(label) is no numeric attribute of \(entity.name)", "Name one")
                return nil
            }
            return .attribute(slot: slot)
        }
    }

    /// Orders derived attributes so that each is computed after those it reads; a circle is refused.
    mutating func derivedOrder(_ attributes: [Attribute], of entity: EntityDeclaration) -> [Int] {
        var order: [Int] = []
        var waiting = attributes.filter(\.isDerived)
        while !waiting.isEmpty {
            let blocked = Set(waiting.map(\.slot))
            let ready = waiting.filter { attribute in
                guard case .arithmetic(let expression)? = attribute.derivation else { return true }
                return expression.slots.isDisjoint(with: blocked)
            }
            if ready.isEmpty {
                let names = waiting.map(\.name).joined(separator: ", ")
                report(
                    entity.line, "Derived attributes of \(entity.name) depend on each other: \(names)",
                    "Break the circle")
                return []
            }
            order += ready.map(\.slot)
            let placed = Set(ready.map(\.slot))
            waiting.removeAll { placed.contains($0.slot) }
        }
        return order
    }
}
