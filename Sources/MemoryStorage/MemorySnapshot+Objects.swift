// Objects and rows of fetch requests.
extension MemorySnapshot {
    private typealias Evaluator = PredicateEvaluator<MemorySnapshot>

    /// A row of an entity's table at its place in the order of a request.
    private struct Found {
        let row: StoredRow
        let place: FetchPosition
    }

    func objects(_ request: CheckedFetchRequest) throws -> [FetchedObject] {
        try found(request).map { try object($0.row, request) }
    }

    func objects(
        _ request: CheckedFetchRequest, withOrder: Bool, each: (FetchedObject, [Value]) throws -> Bool
    ) throws {
        for found in try found(request) {
            let object = try object(found.row, request)
            if try !each(object, withOrder ? found.place.values : []) { return }
        }
    }

    func batches(_ request: CheckedFetchRequest, size: Int) throws -> any ObjectBatches {
        MemoryBatches(try objects(request), size: size)
    }

    func count(_ request: CheckedFetchRequest) throws -> Int {
        if request.isOfRows { return try allRows(request).count }
        return try matching(request).count
    }

    /// The rows of a request in their order, its page regarded.
    private func found(_ request: CheckedFetchRequest) throws -> [Found] {
        let evaluator = Evaluator(self, now: request.time)
        var found: [Found] = []
        for row in try matching(request) {
            let place = FetchPosition(pk: row.pk, values: try evaluator.order(request.sort, of: row))
            if let after = request.after, !after.position.precedes(place, in: request.sort) { continue }
            found.append(Found(row: row, place: place))
        }
        found.sort { $0.place.precedes($1.place, in: request.sort) }
        return Self.page(found, request)
    }

    private static func page<Element>(_ all: [Element], _ request: CheckedFetchRequest) -> [Element] {
        let rest = all.dropFirst(request.offset)
        return Array(request.limit.map { rest.prefix($0) } ?? rest)
    }

    /// The rows that meet a request's condition, by primary key.
    private func matching(_ request: CheckedFetchRequest) throws -> [StoredRow] {
        let evaluator = Evaluator(self, now: request.time)
        return try rows(request.entity.index).all.filter { row in
            if !request.includes(row.entity) || row.isPlaceholder && !request.includesPlaceholders { return false }
            return try request.predicate.map { try evaluator.isTrue($0, of: row) } ?? true
        }
    }

    private func object(_ row: StoredRow, _ request: CheckedFetchRequest) throws -> FetchedObject {
        FetchedObject(
            shape: request.shape, entity: row.entity, pk: row.pk, isPlaceholder: row.isPlaceholder,
            contents: try contents(row, request))
    }

    private func contents(_ row: StoredRow, _ request: CheckedFetchRequest) throws -> [FetchedContent] {
        let evaluator = Evaluator(self, now: request.time)
        return try request.shape.columns.map { column in
            if case .toMany(let relationship) = column.source {
                let identities = placed(relationship, of: row.pk, missing: .min).map { identity(of: $0) }
                let isOrdered = relationship.isOrdered
                return .list(isOrdered ? identities : identities.sorted { ValueOrder.compare($0, $1) < 0 })
            }
            return .value(try value(column, [0: row], evaluator))
        }
    }

    /// The single value of a column; of a group, with its first row as the object of scope 0.
    private func value(
        _ column: FetchShape.Column, _ scopes: Evaluator.Scopes, _ evaluator: Evaluator
    ) throws -> Value {
        let row = scopes[0]
        switch column.source {
        case .attribute(let attribute): return row?.values[attribute.slot] ?? .null
        case .toOne(let relationship):
            return try evaluator.object([relationship], from: row).map { identity(of: $0) } ?? .null
        case .toMany: return .null
        case .expression(let expression): return try evaluator.value(expression.identified(in: model), scopes)
        }
    }

    // MARK: Rows

    func rows(_ request: CheckedFetchRequest) throws -> [FetchedRow] {
        Self.page(try allRows(request), request).map { FetchedRow(shape: request.shape, contents: $0) }
    }

    /// Contents at their place in the order of a request.
    private struct Row {
        let contents: [FetchedContent]
        let place: FetchPosition
    }

    private func allRows(_ request: CheckedFetchRequest) throws -> [[FetchedContent]] {
        var rows: [Row] = []
        for (number, group) in try groups(request).enumerated() {
            var evaluator = Evaluator(self, now: request.time)
            evaluator.group = group
            let scopes: Evaluator.Scopes = group.first.map { [0: $0] } ?? [:]
            if let having = request.having, try !evaluator.isTrue(having, scopes) { continue }
            rows.append(
                Row(
                    contents: try request.shape.columns.map { .value(try value($0, scopes, evaluator)) },
                    place: FetchPosition(
                        pk: request.isOfRows ? Int64(number) : group.first?.pk ?? 0,
                        values: try evaluator.order(request.sort, scopes))))
        }
        if request.isDistinct {
            var known: Set<[FetchedContent]> = []
            rows = rows.filter { known.insert($0.contents).inserted }
        }
        return rows.sorted { $0.place.precedes($1.place, in: request.sort) }.map(\.contents)
    }

    /// The objects that each row of the result stands for.
    private func groups(_ request: CheckedFetchRequest) throws -> [[StoredRow]] {
        let found = try matching(request)
        if request.groupBy.isEmpty { return request.isGrouped ? [found] : found.map { [$0] } }
        let evaluator = Evaluator(self, now: request.time)
        var positions: [[Value]: Int] = [:]
        var groups: [[StoredRow]] = []
        for row in found {
            let key = try request.groupBy.map { Self.groupKey(try evaluator.value($0, [0: row])) }
            if let position = positions[key] {
                groups[position].append(row)
            } else {
                positions[key] = groups.count
                groups.append([row])
            }
        }
        return groups
    }

    /// A whole number and the same number as a double make one group.
    private static func groupKey(_ value: Value) -> Value {
        guard case .double(let number) = value, let whole = Int64(exactly: number) else { return value }
        return .integer(whole)
    }
}

/// Objects in batches, all of which are in memory.
private final class MemoryBatches: ObjectBatches {
    private var rest: ArraySlice<FetchedObject>
    private let size: Int

    init(_ objects: [FetchedObject], size: Int) {
        rest = objects[...]
        self.size = size
    }

    func next() throws -> [FetchedObject]? {
        let batch = rest.prefix(size)
        rest = rest.dropFirst(batch.count)
        return batch.isEmpty ? nil : Array(batch)
    }

    func close() { rest = [] }
}
