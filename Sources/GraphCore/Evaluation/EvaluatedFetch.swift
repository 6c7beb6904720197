/// The stored rows that requests are judged on in memory, by the rules of docs/reference/fetching.md.
package protocol RowSource: EvaluatedObjects where Object == StoredRow {
    var model: ObjectModel { get }

    /// Calls `body` with the rows of a request's entities in the order of their keys, in batches of any size, until it
    /// returns false. Rows that the request's condition is false of may be left out.
    func candidates(_ request: CheckedFetchRequest, body: ([StoredRow]) throws -> Bool) throws

    /// Returns rows that a request's condition is true of, in its order, without regard to its own page. Returns nil where the
    /// storage cannot judge or order them exactly.
    ///
    /// - Parameter place: the rows begin behind it.
    func page(
        _ request: CheckedFetchRequest, after place: FetchPosition?, offset: Int, limit: Int
    ) throws -> [StoredRow]?

    /// Returns the number of objects of a request, or nil where the storage cannot judge them exactly.
    func exactCount(_ request: CheckedFetchRequest) throws -> Int?

    /// Returns the first rows of a request of groups, aggregates or values without repeats, in its order. Its own page has no
    /// effect. Returns all rows where `limit` is nil, and nil where the storage cannot make them exactly.
    func groupedRows(_ request: CheckedFetchRequest, limit: Int?) throws -> [[FetchedContent]]?

    /// Returns the number of these rows, or nil where the storage cannot make them exactly.
    func groupedRowCount(_ request: CheckedFetchRequest) throws -> Int?

    /// Says that these rows are read next, so that all they lead to may be loaded at once.
    func prepare(_ rows: ArraySlice<StoredRow>)
}

extension RowSource {
    package func page(
        _ request: CheckedFetchRequest, after place: FetchPosition?, offset: Int, limit: Int
    ) throws -> [StoredRow]? { nil }

    package func exactCount(_ request: CheckedFetchRequest) throws -> Int? { nil }

    package func groupedRows(_ request: CheckedFetchRequest, limit: Int?) throws -> [[FetchedContent]]? { nil }

    package func groupedRowCount(_ request: CheckedFetchRequest) throws -> Int? { nil }

    package func primaryKey(of object: StoredRow) -> Int64 { object.pk }

    package func identity(of object: StoredRow) -> Value { object.values[object.entity.identitySlot] }

    package func value(_ slot: Int, of object: StoredRow) -> Value { object.values[slot] }

    package func reference(_ relationship: Relationship, of object: StoredRow) -> Value {
        relationship.slot.map { object.values[$0] } ?? .null
    }
}

// The fetches of a snapshot whose rows the evaluator judges.
extension SnapshotSession where Self: RowSource {
    package func objects(_ request: CheckedFetchRequest) throws -> [FetchedObject] {
        try EvaluatedFetch(self, request).objects()
    }

    package func objects(
        _ request: CheckedFetchRequest, withOrder: Bool, each: (FetchedObject, [Value]) throws -> Bool
    ) throws {
        try EvaluatedFetch(self, request).forEachObject(withOrder: withOrder, each)
    }

    package func batches(_ request: CheckedFetchRequest, size: Int) throws -> any ObjectBatches {
        FetchedBatchesInMemory(try objects(request), size: size)
    }

    package func rows(_ request: CheckedFetchRequest) throws -> [FetchedRow] {
        try EvaluatedFetch(self, request).rows()
    }

    package func count(_ request: CheckedFetchRequest) throws -> Int { try EvaluatedFetch(self, request).count() }
}

/// Answers fetch requests with the evaluator, for a storage that cannot judge them by itself.
///
/// In memory are the rows up to the end of the request's page, or one batch in the order of primary keys. For groups,
/// aggregates and values without repeats, all rows are in memory that the condition is true of.
package struct EvaluatedFetch<Source: RowSource> {
    private typealias Evaluator = PredicateEvaluator<Source>

    /// A row of an entity's table at its place in the order of the request.
    private struct Found {
        let row: StoredRow
        let place: FetchPosition
    }

    private let source: Source
    private let request: CheckedFetchRequest
    private let evaluator: Evaluator
    /// The number of rows for which the source loads the destinations at a time.
    private let batchSize = 1000

    package init(_ source: Source, _ request: CheckedFetchRequest) {
        self.source = source
        self.request = request
        evaluator = Evaluator(source, now: request.time)
    }

    /// The objects of the request in their order, its page regarded.
    package func objects() throws -> [FetchedObject] {
        var objects: [FetchedObject] = []
        try forEachObject(withOrder: false) { object, _ in
            objects.append(object)
            return true
        }
        return objects
    }

    /// Calls `each` with the same objects in the same order, until it returns false.
    package func forEachObject(withOrder: Bool, _ each: (FetchedObject, [Value]) throws -> Bool) throws {
        if try forEachObject(inPages: withOrder, each) { return }
        if request.sort.isEmpty { return try forEachObjectByKey { try each($0, []) } }
        let all = try found()
        for start in stride(from: 0, to: all.count, by: batchSize) {
            let part = all[start..<min(start + batchSize, all.count)]
            source.prepare(part.map(\.row)[...])
            for found in part where try !each(object(found.row), withOrder ? found.place.values : []) { return }
        }
    }

    /// Reads the objects page by page; false where the storage cannot.
    private func forEachObject(
        inPages withOrder: Bool, _ each: (FetchedObject, [Value]) throws -> Bool
    ) throws -> Bool {
        var (place, offset, rest) = (request.after?.position, request.offset, request.limit ?? .max)
        while rest > 0 {
            let limit = min(rest, batchSize)
            guard let rows = try source.page(request, after: place, offset: offset, limit: limit) else { return false }
            source.prepare(rows[...])
            for row in rows {
                let order = try evaluator.order(request.sort, of: row)
                if try !each(object(row), withOrder ? order : []) { return true }
                place = FetchPosition(pk: row.pk, values: order)
            }
            if rows.count < limit { return true }
            (rest, offset) = (rest - rows.count, 0)
        }
        return true
    }

    /// Candidates come in the order of primary keys, so the reading ends with the page.
    private func forEachObjectByKey(_ each: (FetchedObject) throws -> Bool) throws {
        var (offset, rest) = (request.offset, request.limit ?? .max)
        if rest == 0 { return }
        try forEachMatch { row in
            if let after = request.after, !after.position.precedes(FetchPosition(pk: row.pk, values: []), in: []) {
                return true
            }
            if offset > 0 {
                offset -= 1
                return true
            }
            rest -= 1
            return try each(object(row)) && rest > 0
        }
    }

    /// The number of objects or rows of the request, without regard to limit, offset and cursor.
    package func count() throws -> Int {
        if request.isOfRows { return try source.groupedRowCount(request) ?? allRows(limit: nil).count }
        if let count = try source.exactCount(request) { return count }
        var count = 0
        try forEachMatch { _ in
            count += 1
            return true
        }
        return count
    }

    /// The position behind the request's page; nil without a limit.
    private var pageEnd: Int? {
        request.limit.map { limit in
            let (end, isTooLarge) = limit.addingReportingOverflow(request.offset)
            return isTooLarge ? .max : end
        }
    }

    private func found() throws -> [Found] {
        var found: [Found] = []
        let end = pageEnd
        func sort() {
            found.sort { $0.place.precedes($1.place, in: request.sort) }
            if let end, found.count > end { found.removeSubrange(end...) }
        }
        try forEachMatch { row in
            let place = FetchPosition(pk: row.pk, values: try evaluator.order(request.sort, of: row))
            if let after = request.after, !after.position.precedes(place, in: request.sort) { return true }
            found.append(Found(row: row, place: place))
            // The rows behind the page are dropped once in a while.
            if let end, found.count / 2 >= max(end, batchSize) { sort() }
            return true
        }
        sort()
        return page(found)
    }

    private func page<Element>(_ all: [Element]) -> [Element] {
        let rest = all.dropFirst(request.offset)
        return Array(request.limit.map { rest.prefix($0) } ?? rest)
    }

    /// Calls `each` with the rows that meet the request's condition, by primary key, until it returns false.
    private func forEachMatch(_ each: (StoredRow) throws -> Bool) throws {
        try source.candidates(request) { batch in
            source.prepare(batch[...])
            for row in batch where try isMatch(row) {
                if try !each(row) { return false }
            }
            return true
        }
    }

    private func isMatch(_ row: StoredRow) throws -> Bool {
        if !request.includes(row.entity) || row.isPlaceholder && !request.includesPlaceholders { return false }
        return try request.predicate.map { try evaluator.isTrue($0, of: row) } ?? true
    }

    private func object(_ row: StoredRow) throws -> FetchedObject {
        FetchedObject(
            shape: request.shape, entity: row.entity, pk: row.pk, isPlaceholder: row.isPlaceholder,
            contents: try request.shape.columns.map { try content($0, row) })
    }

    private func content(_ column: FetchShape.Column, _ row: StoredRow) throws -> FetchedContent {
        guard case .toMany(let relationship) = column.source else {
            return .value(try value(column, [0: row], evaluator))
        }
        var identities: [Value] = []
        try source.forEachDestination(of: row, relationship) { destination in
            identities.append(source.identity(of: destination))
            return true
        }
        return .list(
            relationship.isOrdered ? identities : identities.sorted { ValueOrder.compare($0, $1) < 0 })
    }

    /// The single value of a column; of a group, with its first row as the object of scope 0.
    private func value(
        _ column: FetchShape.Column, _ scopes: Evaluator.Scopes, _ evaluator: Evaluator
    ) throws -> Value {
        let row = scopes[0]
        switch column.source {
        case .attribute(let attribute): return row?.values[attribute.slot] ?? .null
        case .toOne(let relationship):
            return try evaluator.object([relationship], from: row).map { source.identity(of: $0) } ?? .null
        case .toMany: return .null
        case .expression(let expression):
            return try evaluator.value(expression.identified(in: source.model), scopes)
        }
    }

    // MARK: Rows

    /// The rows of the request, its page regarded.
    package func rows() throws -> [FetchedRow] {
        page(try allRows(limit: pageEnd)).map { FetchedRow(shape: request.shape, contents: $0) }
    }

    /// Contents at their place in the order of the request.
    private struct Row {
        let contents: [FetchedContent]
        let place: FetchPosition
    }

    /// The rows of the request without regard to its page; a storage may leave those out that stand behind `limit`.
    private func allRows(limit: Int?) throws -> [[FetchedContent]] {
        if let rows = try source.groupedRows(request, limit: limit) { return rows }
        var rows: [Row] = []
        for (number, group) in try groups().enumerated() {
            source.prepare(group.prefix(batchSize))
            var evaluator = evaluator
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
    private func groups() throws -> [[StoredRow]] {
        var found: [StoredRow] = []
        try forEachMatch { row in
            found.append(row)
            return true
        }
        if request.groupBy.isEmpty { return request.isGrouped ? [found] : found.map { [$0] } }
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
package final class FetchedBatchesInMemory: ObjectBatches {
    private var rest: ArraySlice<FetchedObject>
    private let size: Int

    package init(_ objects: [FetchedObject], size: Int) {
        rest = objects[...]
        self.size = size
    }

    package func next() throws -> [FetchedObject]? {
        let batch = rest.prefix(size)
        rest = rest.dropFirst(batch.count)
        return batch.isEmpty ? nil : Array(batch)
    }

    package func close() { rest = [] }
}
