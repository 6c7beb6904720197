// The attributes, relationships and indexes of a Core Data entity.

extension CoreDataModelReader {
    private static let attributeKeys: Set = [
        "name", "attributeType", "optional", "transient", "defaultValueString", "defaultDateTimeInterval",
        "minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval", "regularExpressionString",
        "derived", "derivationExpression", "preserveAfterDeletion", "indexed", "elementID", "versionHashModifier",
    ]

    private static let valueKeys = ["defaultValueString", "minValueString", "maxValueString"]
    private static let dateKeys = ["defaultDateTimeInterval", "minDateTimeInterval", "maxDateTimeInterval"]

    static let types: [String: AttributeType] = [
        "Integer 16": .integer16, "Integer 32": .integer32, "Integer 64": .integer64, "Decimal": .decimal,
        "Double": .double, "Float": .float, "String": .string, "Boolean": .boolean, "Date": .date, "Binary": .binary,
        "Binary Data": .binary, "UUID": .uuid, "URI": .uri, "Transformable": .transformable,
        "Undefined": .transformable, "Composite": .transformable,
    ]

    mutating func readAttribute(_ element: XMLElement, of entity: String) -> AttributeDeclaration? {
        guard let name = element.attribute("name") else {
            report(element.line, "An attribute of \(entity) has no name", "Give it one")
            return nil
        }
        let label = "\(entity).\(name.value)"
        let typeName = element.attribute("attributeType")?.value ?? "Undefined"
        guard let type = Self.types[typeName] else {
            let known = Self.types.keys.sorted().joined(separator: ", ")
            report(element.line, "'\(typeName)' is no attribute type, at \(label)", "Use one of: \(known)")
            return nil
        }
        var attribute = AttributeDeclaration(name: name.value, line: name.line)
        attribute.type = type
        attribute.isOptional = flag(element, "optional")
        attribute.isTransient = flag(element, "transient")
        attribute.isIndexed = flag(element, "indexed")
        attribute.renamedFrom = located(element, "elementID")
        attribute.hashModifier = element.attribute("versionHashModifier")?.value
        attribute.info = keep(element, except: Self.attributeKeys)
        for child in element.children {
            if child.name == "userInfo" {
                attribute.info.merge(userInfo(child)) { $1 }
            } else {
                keep(child, in: &attribute.info)
            }
        }
        if typeName == "Composite" || typeName == "Undefined" {
            attribute.info[Self.keptPrefix + "attributeType"] = typeName
            remark(element.line, "\(label) of type \(typeName) holds JSON here")
        }
        if flag(element, "preserveAfterDeletion") {
            if type == .binary {
                keep("preserveAfterDeletion", "YES", in: &attribute.info)
            } else {
                attribute.isPreservedAfterDeletion = true
            }
        }
        readValues(element, label, into: &attribute)
        readDerivation(element, label, into: &attribute)
        return attribute
    }

    private mutating func readDerivation(
        _ element: XMLElement, _ label: String, into attribute: inout AttributeDeclaration
    ) {
        guard flag(element, "derived") else { return keep(element, ["derivationExpression"], in: &attribute.info) }
        attribute.derived = located(element, "derivationExpression")
        if attribute.derived == nil {
            report(element.line, "\(label) is derived and has no expression", "Write a derivationExpression")
        }
    }

    private mutating func readValues(_ element: XMLElement, _ label: String, into attribute: inout AttributeDeclaration)
    {
        if attribute.type == .date {
            attribute.defaultText = date(element, "defaultDateTimeInterval", label)
            attribute.minimumText = date(element, "minDateTimeInterval", label)
            attribute.maximumText = date(element, "maxDateTimeInterval", label)
            return keep(element, Self.valueKeys + ["regularExpressionString"], in: &attribute.info)
        }
        keep(element, Self.dateKeys, in: &attribute.info)
        attribute.defaultText = value(element, "defaultValueString", label, &attribute)
        switch attribute.type {
        case .string, .uri, .binary:
            attribute.minimumLength = count(element, "minValueString")
            attribute.maximumLength = count(element, "maxValueString")
        default:
            attribute.minimumText = value(element, "minValueString", label, &attribute)
            attribute.maximumText = value(element, "maxValueString", label, &attribute)
        }
        guard attribute.type == .string || attribute.type == .uri else {
            return keep(element, ["regularExpressionString"], in: &attribute.info)
        }
        // Core Data matches the whole value, a pattern here any part of it.
        attribute.pattern = located(element, "regularExpressionString").map {
            Located(content: "^(?:\($0.content))$", line: $0.line)
        }
    }

    /// Returns a value in the form of our own model files; what the type has no literal for is kept.
    private mutating func value(
        _ element: XMLElement, _ key: String, _ label: String, _ attribute: inout AttributeDeclaration
    ) -> Located<String>? {
        guard let found = element.attribute(key) else { return nil }
        let type = attribute.type
        if type == .transformable || (!type.isNumeric && key != "defaultValueString") {
            keep(key, found.value, in: &attribute.info)
            return nil
        }
        let number = type.isNumeric ? DecimalText.canonical(found.value) ?? found.value : found.value
        guard let value = type.value(fromText: number), !value.isNull else {
            report(
                found.line, "'\(key)' of \(label) is no \(type.rawValue)", "Write \(type.expectation), or remove it")
            return nil
        }
        return Located(content: type.text(of: value), line: found.line)
    }

    /// Returns a date that stands as seconds since 2001-01-01.
    private mutating func date(_ element: XMLElement, _ key: String, _ label: String) -> Located<String>? {
        guard let found = element.attribute(key) else { return nil }
        let microseconds = Double(found.value).map { (($0 + Self.referenceDateSeconds) * 1_000_000).rounded() }
        guard let microseconds = microseconds.flatMap({ Int64(exactly: $0) }),
            Timestamp.microseconds(Timestamp.text(microseconds)) == microseconds
        else {
            report(found.line, "'\(key)' of \(label) is no date", "Write seconds since 2001-01-01 UTC")
            return nil
        }
        return Located(content: Timestamp.text(microseconds), line: found.line)
    }

    /// 2001-01-01 in seconds since 1970, both UTC.
    private static let referenceDateSeconds = 978_307_200.0
}

// MARK: - Relationships

extension CoreDataModelReader {
    private static let relationshipKeys: Set = [
        "name", "optional", "transient", "toMany", "ordered", "minCount", "maxCount", "deletionRule",
        "destinationEntity", "inverseName", "inverseEntity", "elementID", "versionHashModifier",
    ]

    private static let deleteRules: [String: DeleteRule] = [
        "Nullify": .nullify, "Cascade": .cascade, "Deny": .deny, "No Action": .noAction,
    ]

    mutating func readRelationship(_ element: XMLElement, of entity: String) -> RelationshipDeclaration? {
        guard let name = element.attribute("name") else {
            report(element.line, "A relationship of \(entity) has no name", "Give it one")
            return nil
        }
        guard let destination = located(element, "destinationEntity") else {
            report(element.line, "The relationship \(entity).\(name.value) has no destination", "Choose its entity")
            return nil
        }
        var relationship = RelationshipDeclaration(name: name.value, line: name.line, destination: destination)
        relationship.isToMany = flag(element, "toMany")
        relationship.isOrdered = relationship.isToMany && flag(element, "ordered")
        relationship.isTransient = flag(element, "transient")
        relationship.deleteRule = deleteRule(element)
        relationship.renamedFrom = located(element, "elementID")
        relationship.hashModifier = element.attribute("versionHashModifier")?.value
        relationship.info = keep(element, except: Self.relationshipKeys)
        for child in element.children {
            if child.name == "userInfo" {
                relationship.info.merge(userInfo(child)) { $1 }
            } else {
                keep(child, in: &relationship.info)
            }
        }
        readInverse(element, of: entity, into: &relationship)
        readCounts(element, of: entity, into: &relationship)
        if !relationship.isToMany, flag(element, "ordered") { keep(element, ["ordered"], in: &relationship.info) }
        if let choice = relationship.info.removeValue(forKey: "onMissing") {
            if let choice = MissingDestination(rawValue: choice) {
                relationship.onMissing = choice
            } else {
                report(element.line, "'\(choice)' is no value of 'onMissing'", "Use placeholder or reject")
            }
        }
        return relationship
    }

    private mutating func deleteRule(_ element: XMLElement) -> DeleteRule {
        guard let rule = element.attribute("deletionRule") else { return .nullify }
        if let known = Self.deleteRules[rule.value] { return known }
        report(rule.line, "'\(rule.value)' is no delete rule", "Use Nullify, Cascade, Deny or No Action")
        return .nullify
    }

    private mutating func readInverse(
        _ element: XMLElement, of entity: String, into relationship: inout RelationshipDeclaration
    ) {
        relationship.inverse = located(element, "inverseName")
        guard relationship.inverse != nil else { return keep(element, ["inverseEntity"], in: &relationship.info) }
        let destination = relationship.destination.content
        guard let owner = element.attribute("inverseEntity"), owner.value != destination else { return }
        report(
            owner.line,
            "'inverseEntity' of \(entity).\(relationship.name) is '\(owner.value)', but it leads to \(destination)",
            "Name the destination, or remove it")
    }

    private mutating func readCounts(
        _ element: XMLElement, of entity: String, into relationship: inout RelationshipDeclaration
    ) {
        let isOptional = flag(element, "optional")
        let minimum = count(element, "minCount") ?? 0
        let maximum = count(element, "maxCount") ?? 0
        guard relationship.isToMany else {
            relationship.isOptional = isOptional
            // One destination at most is what to-one means, and whether there has to be one, 'optional' says.
            for (key, number) in [("minCount", minimum), ("maxCount", maximum)] where number > 1 {
                report(
                    element.attribute(key)?.line,
                    "'\(key)' of \(entity).\(relationship.name) is \(number), and it is to-one",
                    "Remove it, or write toMany=\"YES\"")
            }
            return
        }
        relationship.minimumCount = minimum
        relationship.maximumCount = maximum == 0 ? nil : maximum
        // An empty set is no missing value for Core Data: only a minimum count asks for a destination.
        relationship.isOptional = isOptional || relationship.minimumCount == 0
    }
}

// MARK: - Indexes

extension CoreDataModelReader {
    private static let indexKeys: Set = ["name", "partialIndexPredicate"]
    private static let indexElementKeys: Set = ["property", "expression", "type", "order"]

    mutating func readFetchIndex(_ element: XMLElement, of entity: inout EntityDeclaration) {
        let name = element.attribute("name")?.value
        let label = "\(entity.name).\(name ?? "index")"
        var index = IndexDeclaration(name: name.flatMap { ModelBuilder.isName($0) ? $0 : nil }, line: element.line)
        let parts = element.children(named: "fetchIndexElement")
        for part in parts {
            guard let content = content(part, label) else { continue }
            let isRTree = choice(part, "type", of: label, ["Binary", "RTree"]) == "RTree"
            if isRTree { remark(part.line, "the RTree index \(label) is an ordinary one here") }
            let isDescending = choice(part, "order", of: label, ["ascending", "descending"]) == "descending"
            index.elements.append(
                IndexDeclaration.Element(content: content, isDescending: isDescending, line: part.line))
        }
        index.predicate = located(element, "partialIndexPredicate")
        if parts.isEmpty { return keep(element, in: &entity.info) }
        if let name, index.name == nil {
            remark(element.line, "'\(name)' of \(entity.name) cannot name an index: its properties name it here")
        }
        if hasOther(element, parts) || index.name != name {
            entity.info[Self.keptPrefix + "fetchIndex" + (name.map { ".\($0)" } ?? "")] = element.xml
        }
        entity.indexes.append(index)
    }

    /// Counts what an index says that has no meaning here, and tells whether there is any.
    private mutating func hasOther(_ element: XMLElement, _ parts: [XMLElement]) -> Bool {
        let other =
            keep(element, except: Self.indexKeys).count
            + parts.map { keep($0, except: Self.indexElementKeys).count }.reduce(0, +)
        return other > 0
    }

    /// Returns one of several words, or nil where there is none.
    private mutating func choice(_ part: XMLElement, _ name: String, of label: String, _ known: [String]) -> String? {
        guard let found = part.attribute(name) else { return nil }
        if !known.contains(found.value) {
            report(
                found.line, "'\(found.value)' is no \(name) of an element, in the index \(label)",
                "Write \(known.joined(separator: " or "))")
        }
        return found.value
    }

    private mutating func content(_ part: XMLElement, _ label: String) -> IndexDeclaration.Element.Content? {
        switch (part.attribute("property"), part.attribute("expression")) {
        case (let property?, nil): return .property(property.value)
        case (nil, let expression?): return .expression(expression.value)
        case (nil, nil): report(part.line, "An element of the index \(label) names no property", "Name one")
        case (_?, _?):
            report(part.line, "An element of the index \(label) has a property and an expression", "Remove one")
        }
        return nil
    }
}
