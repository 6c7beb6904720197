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
        "UUID": .uuid, "URI": .uri, "Transformable": .transformable, "Undefined": .transformable,
        "Composite": .transformable,
    ]

    /// Other names that models have for types; the numbers are those of NSAttributeType. Letters' case and spaces do
    /// not count.
    private static let otherTypes: [String: AttributeType] = {
        var found: [String: AttributeType] = [
            "int16": .integer16, "int32": .integer32, "int64": .integer64, "bool": .boolean, "binarydata": .binary,
            "data": .binary, "url": .uri, "objectid": .transformable, "object": .transformable, "0": .transformable,
            "100": .integer16, "200": .integer32, "300": .integer64, "400": .decimal, "500": .double, "600": .float,
            "700": .string, "800": .boolean, "900": .date, "1000": .binary, "1100": .uuid, "1200": .uri,
            "1800": .transformable, "2000": .transformable, "2100": .transformable,
        ]
        for (name, type) in types { found[folded(name)] = type }
        return found
    }()

    static func folded(_ text: String) -> String { text.lowercased().filter { !$0.isWhitespace } }

    mutating func readAttribute(_ element: XMLElement, of entity: String) -> AttributeDeclaration? {
        guard let name = element.attribute("name") else {
            report(element.line, "An attribute of \(entity) has no name", "Give it one")
            return nil
        }
        let label = "\(entity).\(name.value)"
        var attribute = AttributeDeclaration(name: name.value, line: name.line)
        let typeName = located(element, "attributeType")?.content ?? "Undefined"
        guard let type = Self.types[typeName] ?? Self.otherTypes[Self.folded(typeName)] else {
            let known = Self.types.keys.sorted().joined(separator: ", ")
            report(element.line, "'\(typeName)' is no attribute type, at \(label)", "Use one of: \(known)")
            attribute.isUnclear = true
            return attribute
        }
        if Self.types[typeName] == nil { note("the type '\(typeName)' is read as \(type.rawValue)", at: label) }
        attribute.type = type
        attribute.isOptional = flag(element, "optional")
        attribute.isTransient = flag(element, "transient")
        attribute.isIndexed = flag(element, "indexed")
        attribute.renamedFrom = located(element, "elementID")
        attribute.hashModifier = element.attribute("versionHashModifier")?.value
        readInfo(element, into: &attribute)
        if type == .transformable, typeName != "Transformable" {
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
        settle(&attribute, label)
        return attribute
    }

    /// Keeps the user info, and all that the model has no place for.
    private mutating func readInfo(_ element: XMLElement, into attribute: inout AttributeDeclaration) {
        attribute.info = keep(element, except: Self.attributeKeys)
        for child in element.children {
            if child.name == "userInfo" {
                attribute.info.merge(userInfo(child)) { $1 }
            } else {
                keep(child, in: &attribute.info)
            }
        }
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
        if found.value.isEmpty, type != .string { return nil }
        if type == .transformable || (!type.isNumeric && key != "defaultValueString") {
            keep(key, found.value, in: &attribute.info)
            return nil
        }
        let number = type.isNumeric ? DecimalText.canonical(found.value) ?? found.value : found.value
        if let value = type.value(fromText: number), !value.isNull {
            return Located(content: type.text(of: value), line: found.line)
        }
        if let value = otherReading(found.value, key, label, type) {
            return Located(content: type.text(of: value), line: found.line)
        }
        // A text that is no number is a mistake; a value that the type only has no place for was taken once.
        if type == .boolean || type.isNumeric && Double(found.value) == nil {
            report(
                found.line, "'\(key)' of \(label) is no \(type.rawValue)", "Write \(type.expectation), or remove it")
        } else {
            note("'\(key)' is no value of the attribute's type and has no effect", at: label)
            keep(key, found.value, in: &attribute.info)
        }
        return nil
    }

    /// Reads texts that Xcode leaves in a number's place: `YES` and `NO` where it was a boolean once, decimals of a
    /// whole number.
    private mutating func otherReading(
        _ text: String, _ key: String, _ label: String, _ type: AttributeType
    ) -> Value? {
        guard type.isNumeric else {
            guard type == .boolean, let number = Double(text) else { return nil }
            note("a number is read as YES or NO", at: label)
            return .integer(number == 0 ? 0 : 1)
        }
        if case .integer(let flag)? = AttributeType.boolean.value(fromText: text),
            let value = type.value(fromText: String(flag))
        {
            note("'YES' and 'NO' as a number are read as 1 and 0", at: label)
            return value
        }
        guard type.integerRange != nil, let number = Double(text), number.isFinite,
            let value = type.value(fromDouble: number.rounded(.towardZero))
        else { return nil }
        note("'\(key)' of a whole number is read without its decimals", at: label)
        return value
    }

    /// Returns a date that stands as seconds since 2001-01-01.
    private mutating func date(_ element: XMLElement, _ key: String, _ label: String) -> Located<String>? {
        guard let found = located(element, key) else { return nil }
        guard let seconds = Double(found.content), seconds.isFinite else {
            report(found.line, "'\(key)' of \(label) is no date", "Write seconds since 2001-01-01 UTC")
            return nil
        }
        let microseconds = Int64(exactly: ((seconds + Self.referenceDateSeconds) * 1_000_000).rounded())
        guard let microseconds, Timestamp.microseconds(Timestamp.text(microseconds)) == microseconds else {
            note("'\(key)' lies outside of the years 1 to 9999 and has no effect", at: label)
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

    mutating func readRelationship(_ element: XMLElement, of entity: String) -> RelationshipDeclaration? {
        guard let name = element.attribute("name") else {
            report(element.line, "A relationship of \(entity) has no name", "Give it one")
            return nil
        }
        var relationship = RelationshipDeclaration(
            name: name.value, line: name.line, destination: Located(content: "", line: name.line))
        guard let destination = located(element, "destinationEntity") else {
            report(element.line, "The relationship \(entity).\(name.value) has no destination", "Choose its entity")
            relationship.isUnclear = true
            return relationship
        }
        relationship.destination = destination
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
        guard let rule = located(element, "deletionRule") else { return .nullify }
        guard
            let known = DeleteRule.allCases.first(where: { Self.folded($0.coreDataName) == Self.folded(rule.content) })
        else {
            let names = DeleteRule.allCases.map(\.coreDataName).joined(separator: ", ")
            report(rule.line, "'\(rule.content)' is no delete rule", "Use one of: \(names)")
            return .nullify
        }
        if known.coreDataName != rule.content {
            note("the delete rule '\(rule.content)' is read as \(known.rawValue)", at: "line \(rule.line ?? 0)")
        }
        return known
    }

    private mutating func readInverse(
        _ element: XMLElement, of entity: String, into relationship: inout RelationshipDeclaration
    ) {
        relationship.inverse = located(element, "inverseName")
        guard relationship.inverse != nil else { return keep(element, ["inverseEntity"], in: &relationship.info) }
        guard let owner = located(element, "inverseEntity"), owner.content != relationship.destination.content
        else { return }
        // The destination says where the inverse is: its own, or an inherited one.
        note(
            "'inverseEntity' names another entity than the destination and has no effect",
            at: "\(entity).\(relationship.name)")
        keep("inverseEntity", owner.content, in: &relationship.info)
    }

    private mutating func readCounts(
        _ element: XMLElement, of entity: String, into relationship: inout RelationshipDeclaration
    ) {
        let isOptional = flag(element, "optional")
        let minimum = count(element, "minCount") ?? 0
        let maximum = count(element, "maxCount") ?? 0
        guard relationship.isToMany else {
            relationship.isOptional = isOptional
            // To-one means one destination at most, and 'optional' says whether there has to be one.
            for (key, number) in [("minCount", minimum), ("maxCount", maximum)] where number > 1 {
                note("a count of a to-one relationship has no effect", at: "\(entity).\(relationship.name)")
                keep(key, String(number), in: &relationship.info)
            }
            return
        }
        relationship.minimumCount = minimum
        relationship.maximumCount = maximum == 0 ? nil : maximum
        if maximum > 0, maximum < minimum {
            note("a 'maxCount' below the 'minCount' has no effect", at: "\(entity).\(relationship.name)")
            keep("maxCount", String(maximum), in: &relationship.info)
            relationship.maximumCount = nil
        }
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

    /// Counts an index's settings that have no meaning here, and tells whether there are any.
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
        switch (located(part, "property"), located(part, "expression")) {
        case (let property?, nil): return .property(property.content)
        case (nil, let expression?): return .expression(expression.content)
        case (nil, nil): report(part.line, "An element of the index \(label) names no property", "Name one")
        case (_?, _?):
            report(part.line, "An element of the index \(label) has a property and an expression", "Remove one")
        }
        return nil
    }
}
