/// Resolves all names of a fetch request in a model.
struct FetchRequestChecker {
    static let maximumSortCount = 16
    static let maximumPropertyCount = 500

    private let request: FetchRequest
    private let entity: Entity
    private let model: ObjectModel
    private var checker: PredicateChecker
    private var columns: [FetchShape.Column] = []
    private var columnExpressions: [FetchPredicate.Expression] = []
    private var groups: [FetchPredicate.Expression] = []
    private var isGrouped = false

    init(_ request: FetchRequest, entity: Entity, model: ObjectModel) {
        self.request = request
        self.entity = entity
        self.model = model
        checker = PredicateChecker(model: model, entity: entity.index)
    }

    /// Returns the request without its page.
    mutating func checked() throws(FetchPredicateError) -> CheckedFetchRequest {
        let condition = try request.condition?.predicate(request.boundVariables)
        let predicate: CheckedPredicate? = if let condition { try checker.check(condition) } else { nil }
        try readColumns()
        let groupBy = try readGroups()
        isGrouped = !groupBy.isEmpty || request.having != nil || columnExpressions.contains(where: \.hasRowAggregate)
        try checkColumns()
        let having = try checkedHaving()
        let sort = try checkedSort()
        let fingerprint = fingerprint(condition, sort.map(\.key))
        return CheckedFetchRequest(
            model: model, entity: entity, predicate: predicate, sort: sort.map(\.checked),
            shape: FetchShape(entity: entity, columns: columns, hasRowAggregates: isGrouped && groupBy.isEmpty),
            groupBy: groupBy, having: having, isDistinct: request.isDistinct, limit: nil, offset: 0, after: nil,
            includesPlaceholders: request.includesPlaceholders, includesSubentities: request.includesSubentities,
            now: nil, fingerprint: fingerprint)
    }

    private var isOfRows: Bool { isGrouped || request.isDistinct }

    // MARK: Properties

    private mutating func readColumns() throws(FetchPredicateError) {
        checker.allowsRowAggregates = true
        defer { checker.allowsRowAggregates = false }
        guard let texts = request.properties else {
            columns = FetchShape.standardColumns(entity, model)
            columnExpressions = columns.map { .path(PropertyPath(names: [$0.name])) }
            return
        }
        if texts.count > Self.maximumPropertyCount {
            throw FetchPredicateError(
                .tooComplex, "There are more than \(Self.maximumPropertyCount) properties", at: nil,
                remedy: "Name fewer properties")
        }
        for (index, text) in texts.enumerated() {
            do throws(FetchPredicateError) {
                try readColumn(try FetchedProperty(text))
            } catch {
                throw error.located(in: .properties, index + 1)
            }
        }
    }

    private mutating func readColumn(_ property: FetchedProperty) throws(FetchPredicateError) {
        if columns.contains(where: { $0.name == property.name }) { return }
        let column: FetchShape.Column
        if let name = property.ownName, property.givenName ?? name == name,
            let own = FetchShape.column(named: name, entity, model)
        {
            column = own
        } else {
            let expression = try checker.check(property.expression)
            column = FetchShape.Column(
                name: property.name, type: expression.type.attributeType(in: model), source: .expression(expression))
            try register(property, expression)
        }
        columns.append(column)
        columnExpressions.append(property.expression)
    }

    /// Registers a property's given name for orders and conditions on groups.
    private mutating func register(_ property: FetchedProperty, _ expression: TypedExpression)
        throws(FetchPredicateError)
    {
        guard let name = property.givenName else { return }
        if entity.propertyNames.contains(name) {
            throw FetchPredicateError(
                .syntax, "\(entity.name) has a property '\(name)' itself", at: nil, remedy: "Use another name behind AS"
            )
        }
        checker.names[name] = expression
    }

    // MARK: Groups

    private mutating func readGroups() throws(FetchPredicateError) -> [TypedExpression] {
        var checked: [TypedExpression] = []
        for (index, text) in request.groupBy.enumerated() {
            do throws(FetchPredicateError) {
                let property = try FetchedProperty(text)
                if property.expression.hasRowAggregate {
                    throw FetchPredicateError(
                        .unsupported, "A group cannot be made by what is computed over it",
                        at: property.expression.column, remedy: "Group by properties; use having for aggregates")
                }
                checked.append(try checker.check(property.expression))
                groups.append(property.expression)
            } catch {
                throw error.located(in: .grouping, index + 1)
            }
        }
        return checked
    }

    /// Refuses properties with several values per row.
    private func checkColumns() throws(FetchPredicateError) {
        guard isOfRows else { return }
        for (index, expression) in columnExpressions.enumerated() {
            if columns[index].isToMany {
                throw FetchPredicateError(
                    .unsupported, "'\(columns[index].name)' is a list, rows have single values", at: expression.column,
                    remedy: "Use \(columns[index].name).@count"
                ).located(in: .properties, index + 1)
            }
            if isGrouped, !isOfGroup(expression) {
                throw notOfGroup(expression).located(in: .properties, index + 1)
            }
        }
    }

    private func isOfGroup(_ expression: FetchPredicate.Expression) -> Bool {
        expression.isGrouped { part in
            if groups.contains(part) { return true }
            guard case .path(let path) = part, path.root == nil, path.function == nil, path.names.count == 1 else {
                return false
            }
            return checker.names[path.names[0]] != nil
        }
    }

    private func notOfGroup(_ expression: FetchPredicate.Expression) -> FetchPredicateError {
        FetchPredicateError(
            .unsupported, "'\(expression)' differs inside a group", at: expression.column,
            remedy: groups.isEmpty
                ? "Group by it, or aggregate it, as in max(…)"
                : "Group by it, or aggregate it; groups are made by \(groups.map(\.description).joined(separator: ", "))"
        )
    }

    private mutating func checkedHaving() throws(FetchPredicateError) -> CheckedPredicate? {
        guard let having = request.having else { return nil }
        if groups.isEmpty {
            throw FetchPredicateError(
                .unsupported, "A condition on groups needs groups", at: nil, remedy: "Name the properties to group by")
        }
        checker.allowsRowAggregates = true
        defer { checker.allowsRowAggregates = false }
        do throws(FetchPredicateError) {
            let predicate = try having.predicate(request.boundVariables)
            if let side = predicate.firstSide(failing: { isOfGroup($0) }) { throw notOfGroup(side) }
            return try checker.check(predicate)
        } catch {
            throw error.located(in: .having)
        }
    }

    // MARK: Order

    private mutating func checkedSort() throws(FetchPredicateError) -> [(key: SortKey, checked: CheckedSort)] {
        checker.allowsRowAggregates = isGrouped
        defer { checker.allowsRowAggregates = false }
        if request.sort.count > Self.maximumSortCount {
            throw FetchPredicateError(
                .tooComplex, "The order has more than \(Self.maximumSortCount) keys", at: nil,
                remedy: "Sort by fewer keys")
        }
        var sort: [(key: SortKey, checked: CheckedSort)] = []
        for (index, text) in request.sort.enumerated() {
            do throws(FetchPredicateError) {
                let key = try SortKey(text)
                sort.append((key, try check(key)))
            } catch {
                throw error.located(in: .order, index + 1)
            }
        }
        return sort
    }

    private mutating func check(_ key: SortKey) throws(FetchPredicateError) -> CheckedSort {
        if isGrouped, !isOfGroup(key.expression) { throw notOfGroup(key.expression) }
        if request.isDistinct, !isFetched(key.expression) {
            throw FetchPredicateError(
                .unsupported, "Rows without repeats cannot be sorted by '\(key.expression)'", at: key.expression.column,
                remedy: "Fetch it too, or sort by a fetched property")
        }
        let expression = try checker.check(key.expression).identified(in: model)
        if !key.options.isEmpty, !PredicateChecker.isText(expression.type) {
            throw FetchPredicateError(
                .type, "\(key.options) sorts texts, this is \(checker.described(expression.type))",
                at: key.expression.column, remedy: "Remove \(key.options)")
        }
        return CheckedSort(expression: expression, options: key.options, isDescending: key.isDescending)
    }

    private func isFetched(_ expression: FetchPredicate.Expression) -> Bool {
        if columnExpressions.contains(expression) { return true }
        guard case .path(let path) = expression, path.names.count == 1 else { return false }
        return checker.names[path.names[0]] != nil
    }

    // MARK: Fingerprint

    private func fingerprint(_ condition: FetchPredicate?, _ sort: [SortKey]) -> UInt64 {
        let parts =
            [entity.name, condition?.description ?? "", request.includesPlaceholders ? "placeholders" : ""]
            // Cursors from before this option are for requests with sub-entities, and stay valid.
            + sort.map(\.text) + (request.includesSubentities ? [] : ["", "without sub-entities"])
        return FetchCursor.fingerprint(parts)
    }
}

extension TypedExpression {
    /// The expression with an object's identity instead of the object.
    package func identified(in model: ObjectModel) -> TypedExpression {
        guard case .path(let path) = node else { return self }
        let identified: ResolvedPath
        switch path.end {
        case .attribute: return self
        case .destination(let relationship):
            let identity = model.entities[relationship.destinationIndex].identity
            identified = ResolvedPath(
                scope: path.scope, origin: path.origin, steps: path.steps + [relationship], end: .attribute(identity))
        case .object:
            let identity = model.entities[path.owner].identity
            identified = ResolvedPath(
                scope: path.scope, origin: path.origin, steps: path.steps, end: .attribute(identity))
        }
        return TypedExpression(node: .path(identified), type: identified.type)
    }
}
