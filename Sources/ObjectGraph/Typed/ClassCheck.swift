import GraphCore

extension ObjectModel {
    /// Registers typed classes for entities of the model.
    ///
    /// Other classes are checked at their first use and need no call. A subclass has to be named here, because its
    /// superclass does not know it.
    ///
    /// - Throws: ``ModelError`` with every property that the model lacks or has of another type.
    public func use(_ types: [TypedObject.Type]) throws(ModelError) {
        var check = ClassCheck(model: self)
        for type in types { check.check(type) }
        if !check.problems.isEmpty { throw ModelError(problems: check.problems) }
        classes.add(check.found)
    }

    func use(_ type: TypedObject.Type) throws(ModelError) {
        if !classes.isKnown(type) { try use([type]) }
    }

    /// Returns the entity of a class.
    ///
    /// - Throws: ``ModelError`` if the class does not fit the model.
    func entity(of type: TypedObject.Type) throws(ModelError) -> Entity {
        try use(type)
        if let entity = entity(named: type.entityName) { return entity }
        throw ModelError(problems: [])
    }
}

/// Compares typed classes, and the classes of their relationships, with a model.
struct ClassCheck {
    let model: ObjectModel
    private(set) var problems: [ModelError.Problem] = []
    private(set) var found: [(entity: Int, type: EntityClass)] = []
    private var seen: Set<ObjectIdentifier> = []

    init(model: ObjectModel) { self.model = model }

    mutating func check(_ type: TypedObject.Type) {
        guard !model.classes.isKnown(type), seen.insert(ObjectIdentifier(type)).inserted else { return }
        let layout = ClassLayout.of(type)
        guard let entity = model.entity(named: type.entityName) else {
            report(
                layout.ownProperties.first?.place, "The model \(model.name) has no entity for the class \(type)",
                ClosestName.remedy(type.entityName, among: model.entities.map(\.name))
                    + ". A class of another name overrides entityName")
            return
        }
        found.append((entity.index, type))
        if let superclass = layout.superclass { check(superclass) }
        for property in layout.properties {
            if property.isRelationship {
                checkRelationship(property, entity)
            } else {
                checkAttribute(property, entity)
            }
        }
        for property in layout.properties {
            if let destination = property.destination { check(destination) }
        }
    }

    private mutating func report(_ place: PropertyDeclaration.Place?, _ message: String, _ remedy: String) {
        let problem = ModelError.Problem(
            file: place?.file ?? model.name, line: place?.line, message: message, remedy: remedy)
        // A subclass has its superclass's properties too.
        if !problems.contains(problem) { problems.append(problem) }
    }

    private mutating func reportMissing(_ property: PropertyDeclaration, _ kind: String, _ entity: Entity) {
        report(
            property.place, "\(property.label): the entity \(entity.name) has no \(kind) '\(property.name)'",
            ClosestName.remedy(property.name, among: entity.propertyNames))
    }

    private mutating func checkAttribute(_ property: PropertyDeclaration, _ entity: Entity) {
        guard case .attribute(let type, _) = property.content else { return }
        guard
            let attribute = entity.attribute(named: property.name)
                ?? entity.transientAttribute(named: property.name)
        else {
            reportMissing(property, "attribute", entity)
            return
        }
        if !type.attributeTypes.contains(attribute.type) {
            report(
                property.place,
                "\(property.label) is a \(type), the model's attribute is of type \(attribute.type.rawValue)",
                "Declare it as \(Self.swiftType(attribute.type)), or change the model")
        }
        let expected: PropertyDeclaration.Kind =
            attribute.isTransient
            ? .field : attribute.slot == entity.identitySlot ? .identity : attribute.isDerived ? .derived : .field
        if property.kind != expected {
            report(
                property.place,
                "\(property.label) is declared with \(property.kind.rawValue), which the model's attribute is not",
                "Declare it with \(expected.rawValue)")
        } else if property.isTransient != attribute.isTransient {
            report(
                property.place,
                "\(property.label) is \(property.isTransient ? "" : "not ")transient, the model's attribute is"
                    + (attribute.isTransient ? "" : " not"),
                attribute.isTransient ? "Write @Field(transient: true)" : "Remove 'transient: true'")
        } else if type.isOptional != attribute.isOptional, !(type.isOptional && attribute.isDerived) {
            report(
                property.place,
                "\(property.label) is \(type.isOptional ? "" : "not ")optional, the model's attribute is"
                    + (attribute.isOptional ? "" : " not"),
                attribute.isOptional ? "Add a ? to its type" : "Remove the ? from its type")
        }
    }

    private mutating func checkRelationship(_ property: PropertyDeclaration, _ entity: Entity) {
        guard let relationship = entity.relationship(named: property.name) else {
            reportMissing(property, "relationship", entity)
            return
        }
        if relationship.isToMany != (property.kind == .toMany) {
            let expected: PropertyDeclaration.Kind = relationship.isToMany ? .toMany : .toOne
            report(
                property.place,
                "\(property.label) is declared with \(property.kind.rawValue), which the model's relationship is not",
                "Declare it with \(expected.rawValue)")
        }
        let destination = model.entities[relationship.destinationIndex].name
        if let type = property.destination, type.entityName != destination {
            report(
                property.place,
                "\(property.label) leads to \(type.entityName), in the model it leads to \(destination)",
                "Declare it with the class of \(destination)")
        }
    }

    private static func swiftType(_ type: AttributeType) -> String {
        switch type {
        case .string, .transformable: "String"
        case .integer16: "Int16 or Int"
        case .integer32: "Int32 or Int"
        case .integer64: "Int"
        case .double: "Double"
        case .float: "Float or Double"
        case .decimal: "Decimal"
        case .boolean: "Bool"
        case .date: "Date"
        case .uuid: "UUID"
        case .uri: "URL or String"
        case .binary: "Data or [UInt8]"
        }
    }
}
