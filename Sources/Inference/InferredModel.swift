import GraphCore
import RecordFiles

/// A model that was inferred from files.
package struct InferredModel: Sendable {
    /// An attribute of an entity.
    package struct Attribute: Sendable {
        /// Its name in the model.
        package var name: String
        /// The column, or nil for the number of a record.
        package var column: String?
        /// The type and the reason.
        package var guess: ColumnGuess
        /// Whether it may be null.
        package var isOptional: Bool
    }

    /// A relationship of an entity.
    package struct Relationship: Sendable {
        /// Its name in the model.
        package var name: String
        /// The column with the reference, or nil.
        package var column: String?
        /// Whether the column is the identity, too.
        package var isIdentity = false
        /// The entity that it leads to.
        package var destination: String
        /// The form that a route has to name for the column, or nil.
        package var form: String?
        /// The relationship that leads back.
        package var inverse: String
        /// Whether it leads to many.
        package var isToMany = false
        /// Whether the destinations are parts, which go with their owner.
        package var isOwner = false
        /// The reason, as a comment of the model.
        package var reason: String
    }

    /// An entity.
    package struct Entity: Sendable {
        /// Its name in the model.
        package var name: String
        /// The records that it comes from.
        package var profile: EntityProfile
        /// The name of the identity attribute.
        package var identity = ""
        /// The reason why that identifies.
        package var identityReason = ""
        /// The number of the column with the identity, or nil.
        package var identityColumn: Int?
        /// The route's expression of the identity, or nil for nested objects.
        ///
        /// It is needed where no column holds the identity, or where a record without a value has it in another form.
        package var identityExpression: String?
        /// The attribute that orders the versions of an object, or nil.
        package var version: String?
        /// The number of the entity whose records hold the array or object, or nil.
        package var parent: Int?
        /// The relationship between the two that the split names: its own, or of an object in a field the parent's.
        package var parentName: String?
        /// Its attributes, the identity first where no column holds it.
        package var attributes: [Attribute] = []
        /// Its relationships.
        package var relationships: [Relationship] = []

        /// Whether its objects stand one in a record, and a record's identity is theirs.
        var isPart: Bool { profile.isSingle && identityColumn == nil }

        /// The guess of a column. A text that stands for no value elsewhere in the file needs a form to be a value here.
        func guess(_ column: ColumnProfile) -> ColumnGuess {
            var guess = ColumnGuess(column)
            if guess.form == nil, !profile.nullMarkers.isDisjoint(with: column.keptMarkers.keys) { guess.form = "text" }
            return guess
        }
    }

    /// The entities, each before the entities of its nested arrays.
    package var entities: [Entity] = []
    /// The columns that refer to other entities.
    package var references: [FoundReference] = []
    /// The points that a person should look at.
    package var warnings: [String] = []

    /// The zone of times without an offset; nil for UTC, which nobody chose.
    let zone: String?
    /// Whether each record is an object of its own, even where values repeat.
    let isEachRecord: Bool

    private let isComplete: Bool

    /// Infers a model from the profiles of files.
    ///
    /// - Parameters:
    ///   - isComplete: whether all records were read, so that a value that was never missing is required.
    ///   - isEachRecord: whether each record is an object of its own, even where values repeat.
    ///   - zone: the zone of times without an offset, such as `Europe/Berlin`; nil for UTC.
    package init(
        _ profiles: [EntityProfile], isComplete: Bool = true, zone: String? = nil, isEachRecord: Bool = false
    ) {
        (self.zone, self.isEachRecord) = (zone, isEachRecord)
        self.isComplete = isComplete
        for profile in profiles { append(profile, parent: nil) }
        for number in entities.indices { identify(number) }
        for number in entities.indices { noteWrapped(number) }
        references = ReferenceFinder.find(
            entities.map { .init(name: $0.name, profile: $0.profile, identity: $0.identityColumn) })
        for number in entities.indices { addAttributes(number) }
        for reference in references { add(reference) }
        for number in entities.indices { addParent(number) }
        for number in entities.indices where entities[number].parent == nil { noteLocalTimes(number) }
    }

    /// Says once for a file how its times without an offset are read.
    private mutating func noteLocalTimes(_ number: Int) {
        let columns = localTimes(number)
        guard zone == nil, !columns.isEmpty else { return }
        let shown = columns.prefix(5).joined(separator: ", ") + (columns.count > 5 ? ", …" : "")
        warnings.append(
            "\(entities[number].name): times without an offset (\(shown)) are read as UTC; --zone names another zone")
    }

    /// Whether records of an entity, or objects in them, have times without an offset.
    func hasLocalTimes(_ number: Int) -> Bool { !localTimes(number).isEmpty }

    private func localTimes(_ number: Int) -> [String] {
        entities[number].attributes.filter(\.guess.isLocal).map(\.name)
            + entities.indices.filter { entities[$0].parent == number }.flatMap { localTimes($0) }
    }

    private mutating func append(_ profile: EntityProfile, parent: Int?) {
        let name = NumberedNames.unused(profile.name, Set(entities.map(\.name)))
        let children = profile.entities
        var profile = profile
        profile.children = children
        entities.append(Entity(name: name, profile: profile, parent: parent))
        let number = entities.count - 1
        for child in children { append(child, parent: number) }
    }

    /// Notes an array that is all there is to a file: its objects are likely the records.
    private mutating func noteWrapped(_ number: Int) {
        let entity = entities[number]
        guard let parent = entity.parent, !entity.profile.isSingle, entity.profile.recordCount > 1,
            entities[parent].parent == nil, entities[parent].profile.recordCount == 1,
            let field = entity.profile.field
        else { return }
        warnings.append(
            "\(entities[parent].name): the file holds one record around the array '\(field)'. To make records of its objects: "
                + "jq -c '.\(InferredText.path(field))[]' \(entity.profile.path) > records.jsonl")
    }

    // MARK: - Properties

    private mutating func addAttributes(_ number: Int) {
        let entity = entities[number]
        let referring = Set(references.filter { $0.entity == number && !$0.isIdentity }.map(\.column))
        nameIdentity(number)
        var used: Set<String> = ["_identity", "_entity", entities[number].identity]
        for (index, column) in entity.profile.columns.enumerated() {
            if entity.profile.isBlank(index) { continue }
            if referring.contains(index) || entity.profile.children.contains(where: { $0.field == column.name }) {
                continue
            }
            let isIdentity = index == entity.identityColumn
            let name =
                isIdentity
                ? entities[number].identity
                : NumberedNames.unused(InferredNames.property(column.name, number: index + 1), used)
            used.insert(name)
            if index == entity.versionColumn { entities[number].version = name }
            let guess = entity.guess(column)
            if let warning = guess.warning { warnings.append("\(entity.name).\(name): \(warning)") }
            entities[number].attributes.append(
                .init(
                    name: name, column: column.name, guess: guess,
                    isOptional: !isIdentity && !(isComplete && entity.profile.isComplete(column))))
        }
    }

    /// Names the identity attribute after its column, or adds one for the number of the record.
    private mutating func nameIdentity(_ number: Int) {
        let entity = entities[number]
        if let column = entity.identityColumn {
            entities[number].identity = InferredNames.property(entity.profile.columns[column].name, number: column + 1)
            return
        }
        let taken = Set(entity.profile.columns.map { InferredNames.property($0.name) })
        let isNumbered = entity.identityExpression == "$row"
        let isKey = entity.identityExpression?.hasPrefix("$key") == true
        let name = isNumbered ? "row" : isKey ? "key" : entity.parent == nil ? "identifier" : "id"
        let type: AttributeType = isNumbered ? .integer64 : .string
        entities[number].identity = NumberedNames.unused(name, taken)
        entities[number].attributes = [
            .init(
                name: entities[number].identity, guess: ColumnGuess(type: type, reason: entity.identityReason),
                isOptional: false)
        ]
    }

    private mutating func add(_ reference: FoundReference) {
        let column = entities[reference.entity].profile.columns[reference.column]
        let destination = entities[reference.destination].name
        let name = NumberedNames.unused(
            InferredNames.reference(column.name, number: reference.column + 1), usedNames(reference.entity))
        let rivals = references.filter { $0.entity == reference.entity && $0.destination == reference.destination }
        var inverse = InferredNames.plural(entities[reference.entity].name)
        if rivals.count > 1 { inverse += "By" + name.prefix(1).uppercased() + name.dropFirst() }
        inverse = NumberedNames.unused(inverse, usedNames(reference.destination).union([name]))
        let share = "\(reference.resolved) of \(reference.total) distinct values are identities of \(destination)"
        entities[reference.entity].relationships.append(
            .init(
                name: name, column: column.name, isIdentity: reference.isIdentity, destination: destination,
                form: entities[reference.entity].guess(column).form,
                inverse: inverse, reason: share))
        entities[reference.destination].relationships.append(
            .init(
                name: inverse, destination: entities[reference.entity].name, inverse: name, isToMany: true,
                reason: "leads back from '\(column.name)'"))
        if reference.resolved < reference.total {
            warnings.append(
                "\(entities[reference.entity].name).\(name): \(share); each of the others becomes a placeholder")
        }
    }

    private mutating func addParent(_ number: Int) {
        guard let parent = entities[number].parent, let field = entities[number].profile.field else { return }
        let owner = entities[parent].name
        let (isSingle, isPart) = (entities[number].profile.isSingle, entities[number].isPart)
        let isShared = isSingle && !isPart
        let singular = owner.prefix(1).lowercased() + owner.dropFirst()
        let back = NumberedNames.unused(isShared ? InferredNames.plural(owner) : singular, usedNames(number))
        let name = NumberedNames.unused(InferredNames.property(field), usedNames(parent))
        entities[number].parentName = isSingle ? name : back
        entities[number].relationships.append(
            .init(
                name: back, destination: owner, inverse: name, isToMany: isShared,
                reason: isShared ? "the records that the object stands in" : "the record around it"))
        entities[parent].relationships.append(
            .init(
                name: name, destination: entities[number].name, inverse: back, isToMany: !isSingle, isOwner: !isShared,
                reason: isSingle ? "the object in '\(field)'" : "the objects of the array '\(field)'"))
    }

    private func usedNames(_ number: Int) -> Set<String> {
        Set(entities[number].attributes.map(\.name)).union(entities[number].relationships.map(\.name))
    }
}
