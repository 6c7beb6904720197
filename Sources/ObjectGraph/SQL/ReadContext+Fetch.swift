import GRDB
import GRDBSQLite

extension ReadContext {
    /// Returns the objects that a request asks for.
    ///
    /// ``Store/read(_:)`` makes a ``StoreError`` of every error: to tell what is wrong with a request, check it before.
    ///
    /// - Throws: ``PredicateError`` where the request does not fit the model, ``StoreError``.
    public func fetch(_ request: FetchRequest) throws -> [FetchedObject] {
        try fetch(try request.checked(with: model))
    }

    /// Returns the objects that a checked request asks for.
    ///
    /// - Throws: ``StoreError``; ``PredicateError`` where the request leads over too many relationships.
    public func fetch(_ request: CheckedFetchRequest) throws -> [FetchedObject] {
        var objects: [FetchedObject] = []
        try fetch(request) { object in
            objects.append(object)
            return true
        }
        return objects
    }

    /// Calls `each` with one object after the other, until it returns false; one object is in memory at a time.
    ///
    /// - Throws: ``PredicateError`` where the request does not fit the model, ``StoreError``, and what `each` throws.
    public func fetch(_ request: FetchRequest, each: (FetchedObject) throws -> Bool) throws {
        try fetch(try request.checked(with: model), each: each)
    }

    /// Calls `each` with one object after the other, until it returns false; one object is in memory at a time.
    ///
    /// - Throws: ``StoreError``, and what `each` throws.
    public func fetch(_ request: CheckedFetchRequest, each: (FetchedObject) throws -> Bool) throws {
        let query = try FetchQuery(checkedModel(request))
        let connection = try self.connection()
        if query.usesDecimals { try DecimalCollation.install(connection) }
        let statement = try PreparedStatement(connection, sql: query.sql)
        for (index, value) in query.bindings.enumerated() { statement.bind(index + 1, value) }
        let lists = try query.listStatements.map { sql throws(StoreError) in
            try PreparedStatement(connection, sql: sql)
        }
        while try statement.step() {
            if try !each(try query.object(statement, lists)) { return }
        }
    }

    /// Returns how many objects a request asks for, its limit and offset regarded.
    ///
    /// - Throws: ``PredicateError`` where the request does not fit the model, ``StoreError``.
    public func count(_ request: FetchRequest) throws -> Int {
        try count(try request.checked(with: model))
    }

    /// Returns how many objects a checked request asks for, its limit and offset regarded.
    ///
    /// - Throws: ``StoreError``.
    public func count(_ request: CheckedFetchRequest) throws -> Int {
        let request = try checkedModel(request)
        let query = try FetchQuery.count(request)
        let connection = try self.connection()
        if query.usesDecimals { try DecimalCollation.install(connection) }
        let statement = try PreparedStatement(connection, sql: query.sql)
        for (index, value) in query.bindings.enumerated() { statement.bind(index + 1, value) }
        let total = try statement.step() ? Int(statement.integer(0)) : 0
        return min(max(0, total - request.offset), request.limit ?? .max)
    }

    /// Positions in a request mean what they mean in its own model.
    private func checkedModel(_ request: CheckedFetchRequest) throws(StoreError) -> CheckedFetchRequest {
        guard request.model === model else {
            throw StoreError(
                .modelMismatch, "The fetch request was checked with another model",
                remedy: "Check it with the store's own model")
        }
        return request
    }

    func connection() throws(StoreError) -> OpaquePointer {
        guard let connection = database.sqliteConnection else {
            throw StoreError(.unavailable, "The store is closed", remedy: "Open it again")
        }
        return connection
    }
}

/// The SQL of a checked fetch request.
struct FetchQuery {
    let sql: String
    let bindings: [Value]
    let usesDecimals: Bool
    /// For each to-many property a query of the destinations' identities, given a primary key.
    let listStatements: [String]
    private let shape: FetchShape

    /// Writes the query of a request's objects: columns `pk`, `_placeholder`, then the shape's single values.
    init(_ request: CheckedFetchRequest) throws(PredicateError) {
        var compiler = PredicateCompiler(model: request.model)
        var scope = try compiler.scope(request.entity.index)
        var columns = ["\(scope.alias).pk", "\(scope.alias)._placeholder"]
        var lists: [String] = []
        for column in request.shape.columns {
            switch column.source {
            case .attribute(let attribute): columns.append("\(scope.alias).\(SQLText.quoted(attribute.name))")
            case .toOne(let relationship):
                let alias = try compiler.alias([relationship], &scope)
                let identity = request.model.entities[relationship.destinationIndex].identity.name
                columns.append("\(alias).\(SQLText.quoted(identity))")
            case .toMany(let relationship): lists.append(Self.identities(relationship, request.model))
            }
        }
        let condition = try Self.condition(request, &compiler, &scope)
        var order: [String] = []
        for term in request.sort {
            order.append(try compiler.ordered(term.path, &scope) + (term.isDescending ? " DESC" : ""))
        }
        order.append("\(scope.alias).pk")
        sql = """
            SELECT \(columns.joined(separator: ", ")) FROM \(compiler.from(scope)) WHERE \(condition) \
            ORDER BY \(order.joined(separator: ", ")) LIMIT ? OFFSET ?
            """
        bindings =
            compiler.bindings + [.integer(request.limit.map { Int64($0) } ?? -1), .integer(Int64(request.offset))]
        usesDecimals = compiler.usesDecimals
        listStatements = lists
        shape = request.shape
    }

    private init(sql: String, compiler: PredicateCompiler, shape: FetchShape) {
        self.sql = sql
        bindings = compiler.bindings
        usesDecimals = compiler.usesDecimals
        listStatements = []
        self.shape = shape
    }

    /// Writes the query of the number of a request's objects, its limit and offset aside.
    static func count(_ request: CheckedFetchRequest) throws(PredicateError) -> FetchQuery {
        var compiler = PredicateCompiler(model: request.model)
        var scope = try compiler.scope(request.entity.index)
        let condition = try condition(request, &compiler, &scope)
        return FetchQuery(
            sql: "SELECT count(*) FROM \(compiler.from(scope)) WHERE \(condition)", compiler: compiler,
            shape: request.shape)
    }

    private static func condition(
        _ request: CheckedFetchRequest, _ compiler: inout PredicateCompiler, _ scope: inout PredicateCompiler.Scope
    ) throws(PredicateError) -> String {
        var terms: [String] = []
        if let predicate = request.predicate { terms.append("(\(try compiler.condition(predicate, &scope)))") }
        if !request.includesPlaceholders { terms.append("\(scope.alias)._placeholder = 0") }
        return terms.isEmpty ? "1" : terms.joined(separator: " AND ")
    }

    /// The query of the identities that a to-many relationship leads to, sorted.
    static func identities(_ relationship: Relationship, _ model: ObjectModel) -> String {
        let destination = model.entities[relationship.destinationIndex]
        let identity = "d.\(SQLText.quoted(destination.identity.name))"
        let table = SQLText.quoted(destination.name)
        switch relationship.storage {
        case .join(let index, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            let join = SQLText.quoted(model.joinTables[index].name)
            return "SELECT \(identity) FROM \(join) j JOIN \(table) d ON d.pk = j.\(far) WHERE j.\(near) = ? ORDER BY 1"
        case .column(let slot), .inverseColumn(let slot):
            let column = SQLText.quoted(destination.columnNames[slot])
            return "SELECT \(identity) FROM \(table) d WHERE d.\(column) = ? ORDER BY 1"
        }
    }

    func object(_ row: PreparedStatement, _ lists: [PreparedStatement]) throws(StoreError) -> FetchedObject {
        let pk = row.integer(0)
        var contents: [FetchedObject.Content] = []
        contents.reserveCapacity(shape.columns.count)
        var (column, list) = (2, 0)
        for property in shape.columns {
            if property.isToMany {
                contents.append(.list(try Self.values(lists[list], pk)))
                list += 1
            } else {
                contents.append(.value(row.value(column)))
                column += 1
            }
        }
        return FetchedObject(shape: shape, pk: pk, isPlaceholder: row.integer(1) != 0, contents: contents)
    }

    static func values(_ statement: PreparedStatement, _ pk: Int64) throws(StoreError) -> [Value] {
        statement.bind(1, pk)
        var values: [Value] = []
        while try statement.step() { values.append(statement.value(0)) }
        return values
    }
}
