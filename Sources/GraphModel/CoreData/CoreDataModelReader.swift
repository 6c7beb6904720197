/// Reads the XML of a Core Data model into a declaration, noting every mistake with its line.
///
/// Settings without meaning here are kept under `info` and counted, to be reported once. The rules are in docs/reference/model.md,
/// "Models from Core Data". Source: the files that Xcode writes, and NSManagedObjectModel's headers for their meaning.
struct CoreDataModelReader {
    let file: CoreDataModelFile
    private(set) var problems: [ModelError.Problem] = []
    /// How often each setting without effect was met.
    private var kept: [String: Int] = [:]
    private var remarks: [String] = []
    /// Settings that the reader took in another meaning, with their places.
    private var readings: [(text: String, places: [String])] = []

    init(_ file: CoreDataModelFile) { self.file = file }

    /// Where kept settings stand in `info`.
    static let keptPrefix = "coredata."

    mutating func read(_ bytes: [UInt8]) -> ModelDeclaration {
        var model = ModelDeclaration()
        model.name = file.name
        model.version = file.version
        let root: XMLElement
        do {
            root = try XMLScanner.read(bytes)
        } catch {
            report(error.line, "This is no XML as Xcode writes it: \(error.message)", "Correct the file at that line")
            return model
        }
        guard root.name == "model" else {
            report(root.line, "The file holds no Core Data model but '\(root.name)'", "Name the folder of a model")
            return model
        }
        model.info = keep(root, except: [])
        for child in root.children {
            switch child.name {
            case "entity": readEntity(child).map { model.entities.append($0) }
            case "userInfo": model.info.merge(userInfo(child)) { $1 }
            default: keep(child, in: &model.info)
            }
        }
        settle(&model)
        if model.entities.isEmpty { report(root.line, "The model has no entities", "Add one in the model editor") }
        CoreDataIdentities.give(to: &model).map { remarks.append($0) }
        model.notes = notes
        return model
    }

    mutating func report(_ line: Int?, _ message: String, _ remedy: String) {
        problems.append(ModelError.Problem(file: file.contents, line: line, message: message, remedy: remedy))
    }

    mutating func remark(_ line: Int, _ text: String) { remarks.append("\(file.contents):\(line): \(text)") }

    /// Notes how something was read, to be reported once with all its places.
    mutating func note(_ text: String, at place: String) {
        if let index = readings.firstIndex(where: { $0.text == text }) {
            readings[index].places.append(place)
        } else {
            readings.append((text, [place]))
        }
    }

    private var notes: [String] {
        var notes = remarks
        notes += readings.map { "\(file.contents): \($0.text): \($0.places.joined(separator: ", "))" }
        if !kept.isEmpty {
            let list = kept.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
            notes.append("\(file.contents): kept as info, without effect here: \(list)")
        }
        return notes
    }
}

// MARK: - What has no meaning here

extension CoreDataModelReader {
    /// Returns the attributes of an element that have no meaning here, as entries of `info`.
    mutating func keep(_ element: XMLElement, except known: Set<String>) -> [String: String] {
        var info: [String: String] = [:]
        for attribute in element.attributes where !known.contains(attribute.name) {
            info[Self.keptPrefix + attribute.name] = attribute.value
            kept[attribute.name, default: 0] += 1
        }
        return info
    }

    /// Keeps an element whole, under its name and, where it has one, its own name attribute.
    mutating func keep(_ element: XMLElement, in info: inout [String: String]) {
        let name = element.attribute("name").map { ".\($0.value)" } ?? ""
        info[Self.keptPrefix + element.name + name] = element.xml
        kept[element.name, default: 0] += 1
    }

    /// Keeps the named attributes of an element, where it has them: they have no meaning here.
    mutating func keep(_ element: XMLElement, _ names: [String], in info: inout [String: String]) {
        for name in names {
            if let attribute = element.attribute(name) { keep(name, attribute.value, in: &info) }
        }
    }

    /// Keeps one value that has no meaning here.
    mutating func keep(_ name: String, _ value: String, in info: inout [String: String]) {
        info[Self.keptPrefix + name] = value
        kept[name, default: 0] += 1
    }

    mutating func userInfo(_ element: XMLElement) -> [String: String] {
        var info: [String: String] = [:]
        for entry in element.children(named: "entry") {
            if let key = entry.attribute("key")?.value {
                info[key] = entry.attribute("value")?.value ?? ""
            } else {
                note("an entry of a user info without a key is left out", at: "line \(entry.line)")
            }
        }
        return info
    }
}

// MARK: - Entities

extension CoreDataModelReader {
    private static let entityKeys: Set = [
        "name", "representedClassName", "parentEntity", "isAbstract", "elementID", "versionHashModifier",
    ]

    private mutating func readEntity(_ element: XMLElement) -> EntityDeclaration? {
        guard let name = element.attribute("name") else {
            report(element.line, "An entity has no name", "Give it one")
            return nil
        }
        var entity = EntityDeclaration(name: name.value, line: name.line)
        entity.parent = located(element, "parentEntity")
        entity.isAbstract = flag(element, "isAbstract")
        entity.className = element.attribute("representedClassName")?.value
        entity.renamedFrom = located(element, "elementID")
        entity.hashModifier = element.attribute("versionHashModifier")?.value
        entity.info = keep(element, except: Self.entityKeys)
        for child in element.children { read(child, of: &entity) }
        // Two entries of an entity's user info say what Core Data has no word for.
        entity.identity = entity.info.removeValue(forKey: "identity").map { Located(content: $0, line: element.line) }
        entity.version = entity.info.removeValue(forKey: "version").map { Located(content: $0, line: element.line) }
        return entity
    }

    private mutating func read(_ child: XMLElement, of entity: inout EntityDeclaration) {
        switch child.name {
        case "attribute": readAttribute(child, of: entity.name).map { entity.attributes.append($0) }
        case "relationship": readRelationship(child, of: entity.name).map { entity.relationships.append($0) }
        case "userInfo": entity.info.merge(userInfo(child)) { $1 }
        case "fetchIndex": readFetchIndex(child, of: &entity)
        case "compoundIndexes":
            for index in child.children(named: "compoundIndex") {
                let elements = names(index, "index", of: entity.name)
                    .map { IndexDeclaration.Element(content: .property($0), line: index.line) }
                if !elements.isEmpty {
                    entity.indexes.append(IndexDeclaration(line: index.line, elements: elements))
                }
            }
        case "uniquenessConstraints":
            for constraint in child.children(named: "uniquenessConstraint") {
                let names = names(constraint, "constraint", of: entity.name)
                if !names.isEmpty { entity.uniqueness.append(Located(content: names, line: constraint.line)) }
            }
        default: keep(child, in: &entity.info)
        }
    }

    /// Returns the properties that the children of a constraint or legacy index name.
    private mutating func names(_ element: XMLElement, _ child: String, of entity: String) -> [String] {
        element.children(named: child).compactMap { part in
            if let name = located(part, "value") { return name.content }
            note("a '\(child)' that names no property is left out", at: "\(entity), line \(part.line)")
            return nil
        }
    }
}

// MARK: - Values

extension CoreDataModelReader {
    /// Returns an attribute's text; an empty one says nothing.
    func located(_ element: XMLElement, _ name: String) -> Located<String>? {
        element.attribute(name).flatMap { $0.value.isEmpty ? nil : Located(content: $0.value, line: $0.line) }
    }

    /// Returns a flag; an absent one means NO.
    mutating func flag(_ element: XMLElement, _ name: String) -> Bool {
        guard let attribute = element.attribute(name), !attribute.value.isEmpty else { return false }
        switch attribute.value {
        case "YES": return true
        case "NO": return false
        default:
            if let value = AttributeType.boolean.value(fromText: attribute.value) {
                note("'\(attribute.value)' is read as YES or NO", at: "'\(name)' in line \(attribute.line)")
                return value == .integer(1)
            }
            report(attribute.line, "'\(name)' is neither YES nor NO", "Write YES or NO")
            return false
        }
    }

    /// Returns a number of objects or characters; Xcode may write it as 3.0.
    mutating func count(_ element: XMLElement, _ name: String) -> Int? {
        guard let attribute = located(element, name) else { return nil }
        if let number = Double(attribute.content) {
            if number < 0 { note("a number below 0 says nothing", at: "'\(name)' in line \(attribute.line ?? 0)") }
            if number >= 0, let count = Int(exactly: number.rounded(.down)) { return count }
            if number.isFinite { return nil }
        }
        report(attribute.line, "'\(name)' is no whole number from 0 up", "Write a number")
        return nil
    }
}
