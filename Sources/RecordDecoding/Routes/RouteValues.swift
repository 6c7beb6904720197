import GraphCore

/// The values that a route or a split gives an object besides the keys of its data, resolved against the model.
struct RouteValues {
    /// A property whose value an expression gives.
    struct Field {
        let name: String
        let expression: RouteExpression
        let property: ObjectDecoder.Property
    }

    /// One or more destinations that a relationship to many gains or loses.
    struct Edit {
        let name: String
        let relationship: Relationship
        let expression: RouteExpression
        let isRemoval: Bool
    }

    let constants: [ObjectOperation.AttributeValue]
    let constantLinks: [ObjectOperation.RelationshipValue]
    let defaults: [ObjectOperation.AttributeValue]
    let defaultLinks: [ObjectOperation.RelationshipValue]
    /// The fields, and behind them the constants that are templates.
    let fields: [Field]
    let edits: [Edit]

    /// Whether constants are all there is.
    var isPlain: Bool { defaults.isEmpty && defaultLinks.isEmpty && fields.isEmpty && edits.isEmpty }

    /// The expressions that look at the record.
    var expressions: [RouteExpression] { fields.map(\.expression) + edits.map(\.expression) }

    /// The properties that expressions give: fields of the data with these names have no effect on them.
    var givenNames: [String] { fields.map(\.name) }

    /// Gives an upserted object what every one of the route gets.
    func complete(_ operation: inout ObjectOperation) {
        operation.attributes += constants
        if !constantLinks.isEmpty { operation.relationships += constantLinks }
        operation.setMissing(defaults)
        for link in defaultLinks {
            let stated = operation.relationships.last { $0.relationship == link.relationship }
            if case .one(let identity)? = stated?.change, !identity.isNull { continue }
            operation.relationships.append(link)
        }
    }
}

extension RouteResolver {
    /// Resolves the values that a route or a split gives its objects.
    func values(
        constants: [String: ConfigurationScalar], defaults: [String: ConfigurationScalar], fields: [String: String],
        add: [String: String] = [:], remove: [String: String] = [:], _ entity: Entity, _ model: ObjectModel,
        isSplit: Bool = false
    ) throws(RouteError) -> RouteValues {
        var scalars = constants
        var templates: [String: String] = [:]
        for case (let name, .string(let text)) in constants
        where RouteExpression.isTemplate(constant: text) && entity.attribute(named: name)?.type != .transformable {
            scalars[name] = nil
            templates[name] = text
        }
        let fixed = try values(scalars, entity, model, what: "constant")
        let missing = try values(defaults, entity, model, what: "default")
        return RouteValues(
            constants: fixed.attributes, constantLinks: fixed.links, defaults: missing.attributes,
            defaultLinks: missing.links,
            fields: try self.fields(fields, entity, what: "field", isSplit: isSplit)
                + self.fields(templates, entity, what: "constant", isSplit: isSplit),
            edits: try edits(remove, entity, isRemoval: true) + edits(add, entity, isRemoval: false))
    }

    /// Compiles an expression.
    func expression(
        _ text: String, for what: String, isSplit: Bool = false
    ) throws(RouteError) -> RouteExpression {
        do throws(ExpressionError) {
            return try RouteExpression(text, isSplit: isSplit)
        } catch {
            let hint = error.suggestion.map { ". Did you mean '\($0)'?" } ?? ""
            throw self.error("The \(what) of \(place) cannot be read: \(error.message)\(hint)")
        }
    }

    /// Compiles a path.
    func path(_ text: String?, for what: String) throws(RouteError) -> RecordPath {
        guard let text else { return .root }
        do throws(ExpressionError) {
            return try RecordPath(text)
        } catch {
            throw self.error("The \(what) of \(place) cannot be read: \(error.message)")
        }
    }

    /// Compiles the form of dates.
    func pattern(_ text: String?, zone: String?, for what: String) throws(RouteError) -> DatePattern? {
        guard let text else { return nil }
        do throws(ExpressionError) {
            return try DatePattern(text, zone: zone)
        } catch {
            throw self.error("The \(what) of \(place) cannot be read: \(error.message)")
        }
    }

    /// Resolves properties whose values expressions give.
    private func fields(
        _ expressions: [String: String], _ entity: Entity, what: String, isSplit: Bool
    ) throws(RouteError) -> [RouteValues.Field] {
        try expressions.sorted { $0.key < $1.key }.map { name, text throws(RouteError) in
            let property = ObjectDecoder.table(entity).properties[name]
            let expression = try expression(text, for: "\(what) '\(name)'", isSplit: isSplit)
            switch property {
            case .relationship(let index)? where entity.relationships[index].isToMany && expression.path == nil:
                throw error(
                    "A \(what) of \(place) gives '\(name)' one value, but it leads to many. Use 'add' or 'remove'")
            case .attribute?, .relationship?:
                return RouteValues.Field(name: name, expression: expression, property: property ?? .ignored)
            default:
                throw error(
                    "A \(what) of \(place) is for '\(name)', which \(entity.name) does not store, or which identifies it. "
                        + "Its properties are: \(entity.propertyNames.joined(separator: ", "))")
            }
        }
    }

    private func edits(
        _ expressions: [String: String], _ entity: Entity, isRemoval: Bool
    ) throws(RouteError) -> [RouteValues.Edit] {
        let key = isRemoval ? "remove" : "add"
        return try expressions.sorted { $0.key < $1.key }.map { name, text throws(RouteError) in
            guard let relationship = entity.relationship(named: name), relationship.isToMany else {
                let known = entity.relationships.filter(\.isToMany).map(\.name).joined(separator: ", ")
                throw error(
                    "'\(key)' of \(place) is for '\(name)', which is no relationship of \(entity.name) to many. Those are: "
                        + "\(known.isEmpty ? "none" : known)")
            }
            return RouteValues.Edit(
                name: name, relationship: relationship, expression: try expression(text, for: "\(key).\(name)"),
                isRemoval: isRemoval)
        }
    }
}
