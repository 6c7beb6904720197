// Attributes: texts to values, limits that suit the type.
extension ModelBuilder {
    mutating func buildAttribute(
        _ declared: AttributeDeclaration, slot: Int, of entity: EntityDeclaration, at index: Int
    ) -> Attribute {
        let label = "\(entity.name).\(declared.name)"
        let columnName = declared.isTransient ? declared.name : tables[root(of: index)]?.columnNames[slot]
        var constraints = ValueConstraints()
        constraints.minimum = value(declared.minimumText, of: declared, label, "min")
        constraints.maximum = value(declared.maximumText, of: declared, label, "max")
        constraints.minimumLength = declared.minimumLength
        constraints.maximumLength = declared.maximumLength
        if let pattern = declared.pattern {
            do throws(PatternFault) {
                constraints.pattern = try TextPattern(pattern.content)
            } catch {
                report(
                    pattern.line, "The pattern of \(label) is no regular expression. \(error.reason)",
                    "Correct its syntax")
            }
        }
        checkConstraints(declared, constraints, label)
        let defaultValue = value(declared.defaultText, of: declared, label, "default")
        let attribute = Attribute(
            declared, columnName: columnName ?? declared.name, slot: slot, entityIndex: index,
            defaultValue: defaultValue, constraints: constraints, derivation: derivation(declared, of: entity))
        do {
            try attribute.check(defaultValue, entity: entity.name)
        } catch {
            report(
                declared.defaultText?.line, "The default of \(label) breaks the rule: it \(error.limit)", "Change one")
        }
        return attribute
    }

    private mutating func value(
        _ text: Located<String>?, of attribute: AttributeDeclaration, _ label: String, _ key: String
    ) -> Value {
        guard let text else { return .null }
        if let value = attribute.type.value(fromText: text.content) { return value }
        report(
            text.line, "'\(key)' of \(label) is no \(attribute.type.rawValue)",
            "Write \(attribute.type.expectation)")
        return .null
    }

    private mutating func checkConstraints(
        _ declared: AttributeDeclaration, _ constraints: ValueConstraints, _ label: String
    ) {
        let hasLength = constraints.minimumLength != nil || constraints.maximumLength != nil
        let isText = [.string, .uri].contains(declared.type)
        if hasLength, !isText, declared.type != .binary {
            report(declared.line, "\(label) has a length and is no text", "Use min and max for numbers and dates")
        }
        if constraints.pattern != nil, !isText {
            report(declared.line, "\(label) has a pattern and is no text", "Remove the pattern")
        }
        let hasRange = !constraints.minimum.isNull || !constraints.maximum.isNull
        if hasRange, !declared.type.isNumeric, declared.type != .date {
            report(declared.line, "\(label) has a range and is neither number nor date", "Use minLength and maxLength")
        }
        if !constraints.minimum.isNull, !constraints.maximum.isNull,
            Attribute.comesBefore(constraints.maximum, constraints.minimum, declared.type)
        {
            report(declared.line, "\(label) has a min above its max", "Exchange them")
        }
        if let minimum = constraints.minimumLength, let maximum = constraints.maximumLength, minimum > maximum {
            report(declared.line, "\(label) has a minLength above its maxLength", "Exchange them")
        }
        if declared.isPreservedAfterDeletion, declared.type == .binary {
            report(declared.line, "\(label) is binary and cannot be preserved after deletion", "Remove the option")
        }
        if declared.derived != nil, declared.defaultText != nil || declared.isUnique {
            report(declared.line, "\(label) is derived and has a default or is unique", "Remove that option")
        }
        if declared.isTransient, declared.derived != nil || declared.isUnique {
            report(declared.line, "\(label) is transient and derived or unique", "Remove one option")
        }
    }
}
