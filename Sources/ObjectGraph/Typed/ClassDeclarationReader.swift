import GraphCore

extension ObjectModel {
    /// Makes a model from typed classes.
    ///
    /// - Parameters:
    ///   - name: the model's name, as in a model file.
    ///   - version: the model's version, as in a model file.
    ///   - entities: the classes, with their typed superclasses and the classes of their relationships.
    /// - Throws: ``ModelError`` with all mistakes, each with the source file, the line and a remedy.
    public convenience init(
        name: String, version: String = "1", entities: [TypedObject.Type]
    ) throws(ModelError) {
        var reader = ClassDeclarationReader()
        let declaration = reader.read(name: name, version: version, entities)
        guard reader.problems.isEmpty else { throw ModelError(problems: reader.problems) }
        var builder = ModelBuilder(declaration, file: name, checkCondition: IndexCondition.problem)
        guard let built = builder.build() else {
            throw ModelError(problems: builder.problems.map { reader.placed($0) })
        }
        self.init(declaration: built.declaration, entities: built.entities, joinTables: built.joinTables)
        try use(entities)
    }
}

/// Makes a model's declaration from typed classes.
struct ClassDeclarationReader {
    private(set) var problems: [ModelError.Problem] = []
    /// The places of all declarations. The lines of the model's declaration are positions in this list, from 1.
    private var places: [PropertyDeclaration.Place] = []
    /// For each relationship that another names as its inverse, the name of that other relationship.
    private var inverses: [Side: String] = [:]

    private struct Side: Hashable {
        let owner: ObjectIdentifier
        let name: String

        init(_ property: PropertyDeclaration) {
            owner = ObjectIdentifier(property.owner)
            name = property.name
        }
    }

    mutating func read(name: String, version: String, _ types: [TypedObject.Type]) -> ModelDeclaration {
        var declaration = ModelDeclaration(name: name, version: version)
        let layouts = types.map { ClassLayout.of($0) }
        for layout in layouts {
            for property in layout.ownProperties { noteInverse(property) }
        }
        declaration.entities = layouts.map { entity($0) }
        return declaration
    }

    /// Returns a problem with its place in the program.
    func placed(_ problem: ModelError.Problem) -> ModelError.Problem {
        guard let line = problem.line, places.indices.contains(line - 1) else { return problem }
        let place = places[line - 1]
        return ModelError.Problem(
            file: place.file, line: place.line, message: problem.message, remedy: problem.remedy)
    }

    private mutating func line(_ place: PropertyDeclaration.Place) -> Int {
        places.append(place)
        return places.count
    }

    private mutating func report(_ place: PropertyDeclaration.Place?, _ message: String, _ remedy: String) {
        problems.append(
            ModelError.Problem(file: place?.file ?? "", line: place?.line, message: message, remedy: remedy))
    }

    // MARK: Entities

    private mutating func entity(_ layout: ClassLayout) -> EntityDeclaration {
        let options = layout.options
        let place = options?.place ?? layout.ownProperties.first?.place
        let line = place.map { self.line($0) }
        var entity = EntityDeclaration(name: layout.type.entityName, line: line)
        entity.parent = layout.superclass.map { Located(content: $0.entityName, line: line) }
        for property in layout.ownProperties { add(property, to: &entity) }
        guard let options else { return entity }
        entity.isAbstract = options.isAbstract
        entity.version = options.version.flatMap { name($0, layout, place) }.map { Located(content: $0, line: line) }
        entity.uniqueness = options.unique.map { list in
            Located(content: list.compactMap { name($0, layout, place) }, line: line)
        }
        entity.indexes = options.indexes.map { index($0, layout, place, line) }
        if let policy = options.mergePolicy {
            if !YAMLModelReader.mergePolicies.contains(policy) {
                report(
                    place, "'\(policy)' is no merge policy of \(layout.type)",
                    "Use one of: \(YAMLModelReader.mergePolicies.joined(separator: ", "))")
            }
            entity.mergePolicy = Located(content: policy, line: line)
        }
        entity.renamedFrom = options.renamedFrom.map { Located(content: $0, line: line) }
        entity.hashModifier = options.hashModifier
        entity.info = options.info
        return entity
    }

    private mutating func name(
        _ path: AnyKeyPath, _ layout: ClassLayout, _ place: PropertyDeclaration.Place?
    ) -> String? {
        if let path = try? KeyPathProbe.path(path, of: layout.type), path.names.count == 1, path.function == nil {
            return path.names[0]
        }
        report(
            place, "A key path in the options of \(layout.type) leads to no declared property of it",
            "Name a property that is declared with @Identity, @Field, @Derived or @ToOne")
        return nil
    }

    private mutating func index(
        _ index: EntityOptions.Index, _ layout: ClassLayout, _ place: PropertyDeclaration.Place?, _ line: Int?
    ) -> IndexDeclaration {
        var declared = IndexDeclaration(name: index.name, line: line)
        for element in index.elements {
            guard let name = name(element.path, layout, place) else { continue }
            declared.elements.append(
                IndexDeclaration.Element(
                    content: element.function.map { .expression("\($0.rawValue):(\(name))") } ?? .property(name),
                    isDescending: element.isDescending, line: line))
        }
        guard let condition = index.condition else { return declared }
        if !layout.isKind(of: condition.type) {
            report(
                place, "The condition of an index of \(layout.type) is one on \(condition.type)",
                "Use properties of \(layout.type)")
        }
        do {
            declared.predicate = Located(content: "\(try condition.result.get())", line: line)
        } catch {
            report(place, "The condition of an index of \(layout.type) cannot be read: \(error.message)", error.remedy)
        }
        return declared
    }

    // MARK: Properties

    private mutating func add(_ property: PropertyDeclaration, to entity: inout EntityDeclaration) {
        let line = line(property.place)
        switch property.content {
        case .attribute(_, let fill):
            var attribute = AttributeDeclaration(name: property.name, line: line)
            fill(&attribute)
            attribute.defaultText?.line = line
            attribute.minimumText?.line = line
            attribute.maximumText?.line = line
            attribute.pattern?.line = line
            attribute.derived?.line = line
            entity.attributes.append(attribute)
            guard property.kind == .identity else { return }
            if entity.identity != nil {
                report(
                    property.place, "\(entity.name) has two properties that are its @Identity",
                    "Declare one of them with @Field(unique: true)")
            }
            entity.identity = Located(content: property.name, line: line)
        case .relationship(let destination, let inverse, let fill):
            var relationship = RelationshipDeclaration(
                name: property.name, line: line,
                destination: Located(content: destination.entityName, line: line))
            fill(&relationship)
            relationship.inverse = inverseName(property, inverse).map { Located(content: $0, line: line) }
            entity.relationships.append(relationship)
        }
    }

    /// Records a relationship's declaration of its other side.
    private mutating func noteInverse(_ property: PropertyDeclaration) {
        guard case .relationship(_, .keyPath, _) = property.content, let other = inverse(property) else { return }
        let side = Side(other)
        if let first = inverses[side], first != property.name {
            report(
                property.place, "\(other.label) is the inverse of \(property.label) and of another relationship",
                "Give each a way back of its own")
        }
        inverses[side] = property.name
    }

    /// The property at the end of a relationship's key path.
    private func inverse(_ property: PropertyDeclaration) -> PropertyDeclaration? {
        guard case .relationship(let destination, .keyPath(let path), _) = property.content,
            let found = try? KeyPathProbe.path(path(), of: destination), found.names.count == 1
        else { return nil }
        return ClassLayout.of(destination).properties.first { $0.name == found.names[0] }
    }

    private mutating func inverseName(_ property: PropertyDeclaration, _ inverse: RelationshipInverse) -> String? {
        switch inverse {
        case .none: return nil
        case .itself: return property.name
        case .keyPath:
            if let other = self.inverse(property) { return other.name }
            report(
                property.place, "The inverse of \(property.label) is no declared property",
                "Name one that is declared with @ToOne or @ToMany")
            return nil
        case .statedByOther:
            if let name = inverses[Side(property)] { return name }
            let destination = property.destination.map { "\($0)" } ?? ""
            report(
                property.place, "The relationship \(property.label) has no inverse",
                "State it on one side, as in inverse: \\\(destination).name, or write 'inverse: .none' where there is "
                    + "none")
            return nil
        }
    }
}
