import Yams

// Entities and their indexes.
extension YAMLModelReader {
    private static let entityKeys: Set = [
        "identity", "version", "attributes", "relationships", "indexes", "parent", "abstract", "unique", "mergePolicy",
        "renamedFrom", "hashModifier", "class", "info",
    ]

    mutating func readEntity(name: String, _ node: Located<Node>) -> EntityDeclaration {
        var entity = EntityDeclaration(name: name, line: node.line)
        let problemCount = problems.count
        guard let fields = mapping(node.content, "entity \(name)", allowed: Self.entityKeys, line: node.line) else {
            entity.isUnclear = true
            return entity
        }
        // A key that is not known may stand for one that is missing.
        entity.isUnclear = problems.count > problemCount
        entity.parent = located(fields["parent"], "parent")
        entity.isAbstract = boolean(fields["abstract"], "abstract") ?? false
        entity.identity = located(fields["identity"], "identity")
        entity.version = located(fields["version"], "version")
        for (key, node) in pairs(fields["attributes"], "'attributes' of \(name)") {
            entity.attributes.append(readAttribute(name: key, node, entity: name))
        }
        for (key, node) in pairs(fields["relationships"], "'relationships' of \(name)") {
            entity.relationships.append(readRelationship(name: key, node, entity: name))
        }
        if let unique = fields["unique"] { entity.uniqueness = readUniqueness(unique, entity: name) }
        if let indexes = fields["indexes"] { entity.indexes = readIndexes(indexes, entity: name) }
        entity.mergePolicy = readMergePolicy(fields["mergePolicy"])
        entity.renamedFrom = located(fields["renamedFrom"], "renamedFrom")
        entity.hashModifier = located(fields["hashModifier"], "hashModifier")?.content
        entity.className = located(fields["class"], "class")?.content
        entity.info = texts(fields["info"], "'info' of \(name)")
        return entity
    }

    /// The names that a merge policy may have; what each does is decided where conflicts are met.
    package static let mergePolicies = [
        "error", "storeTrump", "objectTrump", "overwrite", "rollback", "lastWriterWins",
    ]

    private mutating func readMergePolicy(_ node: Node?) -> Located<String>? {
        guard let policy = located(node, "mergePolicy") else { return nil }
        if Self.mergePolicies.contains(policy.content) { return policy }
        report(
            policy.line, "'\(policy.content)' is no value of 'mergePolicy'",
            "Use one of: \(Self.mergePolicies.joined(separator: ", "))")
        return nil
    }

    private mutating func readUniqueness(_ node: Node, entity: String) -> [Located<[String]>] {
        guard let list = node.sequence else {
            report(line(node), "'unique' of \(entity) is no list", "Write it as [[first, second], [third]]")
            return []
        }
        var constraints: [Located<[String]>] = []
        for element in list {
            guard let names = names(element) else {
                report(
                    line(element), "A uniqueness constraint of \(entity) is no list of names",
                    "Write it as [first, second]")
                continue
            }
            constraints.append(Located(content: names, line: line(element)))
        }
        return constraints
    }

    private func names(_ node: Node) -> [String]? {
        let names = node.sequence?.compactMap(\.string)
        guard let names, !names.isEmpty, names.count == node.sequence?.count else { return nil }
        return names
    }

    // MARK: Indexes

    private static let indexKeys: Set = ["name", "on", "where"]
    private static let elementKeys: Set = ["property", "expression", "descending"]

    private mutating func readIndexes(_ node: Node, entity: String) -> [IndexDeclaration] {
        guard let list = node.sequence else {
            report(line(node), "The indexes of \(entity) are no list", "Write them as [[first, second], [third]]")
            return []
        }
        var indexes: [IndexDeclaration] = []
        for element in list {
            if let index = readIndex(element, entity: entity) { indexes.append(index) }
        }
        return indexes
    }

    private mutating func readIndex(_ node: Node, entity: String) -> IndexDeclaration? {
        if node.mapping == nil {
            guard let names = names(node) else {
                report(line(node), "An index of \(entity) is no list of names", "Write it as [first, second]")
                return nil
            }
            let elements = names.map { IndexDeclaration.Element(content: .property($0), line: line(node)) }
            return IndexDeclaration(line: line(node), elements: elements)
        }
        let label = "index of \(entity)"
        guard let fields = mapping(node, label, allowed: Self.indexKeys) else { return nil }
        var index = IndexDeclaration(line: line(node))
        index.name = located(fields["name"], "name")?.content
        index.predicate = located(fields["where"], "where")
        guard let list = fields["on"]?.sequence, !list.isEmpty else {
            report(line(node), "The \(label) does not say what it is on", "Write 'on: [first, second]'")
            return nil
        }
        for element in list {
            if let element = readIndexElement(element, label) { index.elements.append(element) }
        }
        return index.elements.count == list.count ? index : nil
    }

    private mutating func readIndexElement(_ node: Node, _ label: String) -> IndexDeclaration.Element? {
        if let name = node.string { return IndexDeclaration.Element(content: .property(name), line: line(node)) }
        guard let fields = mapping(node, "element of the \(label)", allowed: Self.elementKeys) else { return nil }
        let isDescending = boolean(fields["descending"], "descending") ?? false
        switch (located(fields["property"], "property"), located(fields["expression"], "expression")) {
        case (let name?, nil):
            return IndexDeclaration.Element(
                content: .property(name.content), isDescending: isDescending, line: name.line)
        case (nil, let text?):
            return IndexDeclaration.Element(
                content: .expression(text.content), isDescending: isDescending, line: text.line)
        default:
            report(
                line(node), "An element of the \(label) names no property, or two things",
                "Write a name, {property: name} or {expression: 'lowercase:(name)'}")
            return nil
        }
    }
}
