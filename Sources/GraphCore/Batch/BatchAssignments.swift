/// The assignments of a batch update, checked against the model: which columns get which values.
package struct BatchAssignments {
    /// The source of a column's new value.
    package enum Source {
        case constant(Value)
        case computed(ArithmeticExpression)
        /// A derived value of the same object.
        case derived
    }

    package struct Column {
        package let attribute: Attribute
        package let source: Source
        /// Tells whether the store computes the value.
        package let isDerived: Bool
    }

    package let entity: Entity
    /// The columns, each derived one after the columns that it reads.
    package private(set) var columns: [Column] = []

    /// The slots of all columns that may change.
    package var slots: Set<Int> { Set(columns.map(\.attribute.slot)) }

    /// The changed properties, as the history records them.
    package var properties: String { columns.map(\.attribute.name).joined(separator: ",") }

    /// - Parameter time: the time of the save, for `now()`, in microseconds since 1970 UTC.
    package init(_ request: BatchUpdateRequest, entity: Entity, plan: DerivedPlan, time: Int64) throws {
        self.entity = entity
        guard !request.assignments.isEmpty else {
            throw BatchError(.invalid, "The request assigns nothing", remedy: "Name at least one attribute")
        }
        for (name, assignment) in request.assignments.sorted(by: { $0.key < $1.key }) {
            columns.append(try Self.column(name, assignment, entity))
        }
        addDerived(plan, time)
    }

    private static func column(
        _ name: String, _ assignment: BatchUpdateRequest.Assignment, _ entity: Entity
    ) throws -> Column {
        guard let attribute = entity.attribute(named: name) else {
            if entity.relationship(named: name) != nil {
                throw BatchError(
                    .invalid, "\(entity.name).\(name) is a relationship, which a batch update does not assign",
                    remedy: "Change relationships by events, or by an editing context")
            }
            throw FetchPredicateError(
                .unknownProperty, "\(entity.name) has no attribute '\(name)'", at: nil,
                remedy: ClosestName.remedy(name, among: entity.attributes.map(\.name)))
        }
        if attribute.isDerived {
            throw BatchError(
                .invalid, "\(entity.name).\(name) is derived: the store computes it",
                remedy: "Assign what it is computed from")
        }
        if attribute.slot == entity.identitySlot {
            throw BatchError(
                .invalid, "\(entity.name).\(name) is the identity, which does not change",
                remedy: "Delete the objects and insert others")
        }
        switch assignment {
        case .constant(let given):
            let value = try stored(given, attribute, entity)
            return Column(attribute: attribute, source: .constant(value), isDerived: false)
        case .expression(let text):
            guard attribute.type.isNumeric else {
                throw BatchError(
                    .invalid, "\(entity.name).\(name) is \(attribute.type.expectation), and arithmetic gives numbers",
                    remedy: "Assign a value instead of an expression")
            }
            return Column(
                attribute: attribute, source: .computed(try expression(text, entity)), isDerived: false)
        }
    }

    private static func stored(
        _ given: FetchPredicate.Expression, _ attribute: Attribute, _ entity: Entity
    ) throws -> Value {
        guard let value = attribute.type.value(given: given) else {
            throw FetchPredicateError(
                .type,
                "\(entity.name).\(attribute.name) takes \(attribute.type.expectation), and was given \(given.kind)",
                at: nil, remedy: "Give a value of that type")
        }
        if let failure = failure(of: value, attribute, entity) { throw BatchError(ValidationFailures(failure)) }
        return value
    }

    /// Returns the rule that forbids a value, or nil.
    package static func failure(of value: Value, _ attribute: Attribute, _ entity: Entity) -> ValidationFailure? {
        if value.isNull {
            if attribute.isOptional || attribute.isDerived { return nil }
            return ValidationFailure(
                reason: .missingMandatory, entity: entity.name, property: attribute.name,
                limit: "is required and would lose its value")
        }
        do {
            try attribute.check(value, entity: entity.name)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Expressions

    private static func expression(_ text: String, _ entity: Entity) throws -> ArithmeticExpression {
        let syntax: DerivedSyntax
        do {
            syntax = try DerivedExpressionParser.parse(text)
        } catch {
            throw FetchPredicateError(
                .syntax, "'\(text)' is no expression: \(error.message)", at: nil, remedy: "Write arithmetic: price * 2")
        }
        switch syntax {
        case .arithmetic(let node): return try resolved(node, entity)
        case .keyPath(let names, nil) where names.count == 1: return try resolved(.name(names[0]), entity)
        default:
            throw FetchPredicateError(
                .unsupported, "'\(text)' is no arithmetic", at: nil, remedy: "Use attributes of the same object")
        }
    }

    private static func resolved(_ node: DerivedSyntax.Node, _ entity: Entity) throws -> ArithmeticExpression {
        switch node {
        case .number(let text): return .number(text)
        case .negated(let operand): return .negated(try resolved(operand, entity))
        case .binary(let sign, let left, let right):
            return .binary(sign, try resolved(left, entity), try resolved(right, entity))
        case .name(let name):
            guard let attribute = entity.attribute(named: name), attribute.type.isNumeric else {
                throw FetchPredicateError(
                    .unknownProperty, "\(entity.name) has no numeric attribute '\(name)'", at: nil,
                    remedy: ClosestName.remedy(name, among: entity.attributes.filter(\.type.isNumeric).map(\.name)))
            }
            return .attribute(slot: attribute.slot)
        }
    }

    /// Adds the times of change, and the derived attributes of the same object that read assigned attributes.
    private mutating func addDerived(_ plan: DerivedPlan, _ time: Int64) {
        for slot in plan.timeSlots[entity.index] {
            columns.append(
                Column(attribute: entity.attributes[slot], source: .constant(.integer(time)), isDerived: true))
        }
        for node in plan.order where entity.index == node.entity || entity.ancestorIndexes.contains(node.entity) {
            let attribute = entity.attributes[node.slot]
            if attribute.ownSlots.isDisjoint(with: slots) { continue }
            columns.append(Column(attribute: attribute, source: .derived, isDerived: true))
        }
    }
}
