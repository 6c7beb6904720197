// The attributes, relationships and indexes of a Core Data entity.

extension CoreDataModelReader {
    private static let attributeKeys: Set = [
        "name", "attributeType", "optional", "transient", "defaultValueString", "defaultDateTimeInterval",
        "minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval", "regularExpressionString",
        "derived", "derivationExpression", "preserveAfterDeletion", "indexed", "elementID", "versionHashModifier",
    ]

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
        if flag(element, "derived") { attribute.derived = located(element, "derivationExpression") }
        return attribute
    }

    private mutating func readValues(_ element: XMLElement, _ label: String, into attribute: inout AttributeDeclaration)
    {
        if attribute.type == .date {
            attribute.defaultText = date(element, "defaultDateTimeInterval", label)
            attribute.minimumText = date(element, "minDateTimeInterval", label)
            attribute.maximumText = date(element, "maxDateTimeInterval", label)
            return
        }
        attribute.defaultText = value(element, "defaultValueString", label, &attribute)
        switch attribute.type {
        case .string, .uri, .binary:
            attribute.minimumLength = count(element, "minValueString")
            attribute.maximumLength = count(element, "maxValueString")
            // Core Data matches the whole value, a pattern here any part of it.
            if attribute.type != .binary, let pattern = located(element, "regularExpressionString") {
                attribute.pattern = Located(content: "^(?:\(pattern.content))$", line: pattern.line)
            }
        default:
            attribute.minimumText = value(element, "minValueString", label, &attribute)
            attribute.maximumText = value(element, "maxValueString", label, &attribute)
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
        relationship.inverse = located(element, "inverseName")
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
        readCounts(element, into: &relationship)
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

    private mutating func readCounts(_ element: XMLElement, into relationship: inout RelationshipDeclaration) {
        let isOptional = flag(element, "optional")
        guard relationship.isToMany else {
            relationship.isOptional = isOptional
            return
        }
        relationship.minimumCount = count(element, "minCount") ?? 0
        relationship.maximumCount = count(element, "maxCount").flatMap { $0 == 0 ? nil : $0 }
        // An empty set is no missing value for Core Data: only a minimum count asks for a destination.
        relationship.isOptional = isOptional || relationship.minimumCount == 0
    }
}

// MARK: - Indexes

extension CoreDataModelReader {
    mutating func readFetchIndex(_ element: XMLElement, of entity: inout EntityDeclaration) {
        let label = "\(entity.name).\(element.attribute("name")?.value ?? "index")"
        let name = element.attribute("name")?.value
        var index = IndexDeclaration(name: name.flatMap { ModelBuilder.isName($0) ? $0 : nil }, line: element.line)
        for part in element.children(named: "fetchIndexElement") {
            if part.attribute("type")?.value == "RTree" {
                remark(part.line, "the RTree index \(label) is an ordinary one here")
            }
            guard let content = content(part) else {
                report(part.line, "An element of the index \(label) names no property", "Name one")
                continue
            }
            let isDescending = part.attribute("order")?.value == "descending"
            index.elements.append(
                IndexDeclaration.Element(content: content, isDescending: isDescending, line: part.line))
        }
        index.predicate = located(element, "partialIndexPredicate")
        if index.elements.isEmpty {
            keep(element, in: &entity.info)
        } else {
            entity.indexes.append(index)
        }
    }

    private func content(_ part: XMLElement) -> IndexDeclaration.Element.Content? {
        if let property = part.attribute("property") { return .property(property.value) }
        return part.attribute("expression").map { .expression($0.value) }
    }
}
