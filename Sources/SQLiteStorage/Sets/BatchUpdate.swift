import StoreSQL

/// Carries a batch update out: one statement for each few thousand rows, with one row of history for each of them.
///
/// The update chooses all objects before the first one changes, by a list of their keys. If there are many, and the
/// condition reads the object alone, it goes window by window along the primary key instead.
struct BatchUpdate {
    let store: SQLiteWriterSession
    let history: HistoryWriter
    /// The entity of the objects themselves, not of one above it.
    let entity: Entity
    let assignments: BatchAssignments
    let selection: BatchSelection
    let columns: [(name: String, value: String)]
    let constants: [Value]
    /// Keeps true what other objects derive from the changed attributes.
    private let propagation: DerivedPropagation

    /// The number of objects above which their keys are not listed where they need not be.
    private static let listedCount = 20_000

    init(
        store: SQLiteWriterSession, history: HistoryWriter, entity: Entity, assignments: BatchAssignments,
        request: CheckedFetchRequest, propagation: DerivedPropagation, function: ArithmeticFunction
    ) throws {
        self.propagation = propagation
        self.store = store
        self.history = history
        self.entity = entity
        self.assignments = assignments
        // Behind the constants come two parameters for keys: a window's ends, or a list.
        let constantCount = assignments.columns.count { column in
            if case .constant = column.source { true } else { false }
        }
        selection = try BatchSelection(
            request, entity: entity, includesPlaceholders: false, time: history.time,
            firstParameter: constantCount + 3)
        (columns, constants) = Self.columns(of: assignments, entity, alias: selection.alias, function)
    }

    /// Returns the columns with the SQL of their new values, and the constants that the SQL has as parameters.
    private static func columns(
        of assignments: BatchAssignments, _ entity: Entity, alias: String, _ function: ArithmeticFunction
    ) -> (columns: [(name: String, value: String)], constants: [Value]) {
        var constants: [Value] = []
        var values: [Int: String] = [:]
        var columns: [(name: String, value: String)] = []
        for column in assignments.columns {
            let slot = column.attribute.slot
            let value: String
            switch column.source {
            case .constant(let constant):
                constants.append(constant)
                value = "?\(constants.count)"
            case .computed(let expression):
                // Assignments read what was there before; derived values read what is assigned.
                value = function.sql(expression, of: column.attribute, entity) { slot in
                    "\(alias).\(SQLText.quoted(entity.columnNames[slot]))"
                }
            case .derived:
                value = function.sql(nil, of: column.attribute, entity) { slot in
                    values[slot] ?? "\(alias).\(SQLText.quoted(entity.columnNames[slot]))"
                }
            }
            values[slot] = value
            columns.append((SQLText.quoted(column.attribute.columnName), value))
        }
        return (columns, constants)
    }

    /// Checks the values that objects would get, and lists the keys of the objects that would change. The result is nil
    /// where the list would be too long and is not needed.
    ///
    /// - Parameter mustList: whether others change before these.
    /// - Throws: ``BatchError``, ``StoreError``.
    func keys(mustList: Bool) throws -> KeySet? {
        try checkValues()
        var keys = KeySet()
        return try listKeys(&keys, mustList: mustList) ? keys : nil
    }

    /// Updates the objects, marks what others derive from them, and returns how many changed.
    ///
    /// - Parameter vacated: whether ``vacate(_:)`` went before.
    /// - Throws: ``StoreError``.
    func run(_ keys: KeySet?, vacated: Bool, into tally: inout ChangeTally) throws -> Int {
        let before = tally.count(.update, entity: entity.index)
        if let keys {
            let listed = "\(selection.alias).pk IN (SELECT value FROM json_each(?\(constants.count + 1)))"
            let update = try vacated ? settingFromAside(listed) : self.update(listed)
            try keys.forEachChunk(of: HistoryRange.maximumCount) { chunk in try change(chunk, update, &tally) }
            if vacated { try dropAside() }
        } else {
            try changeWindows(&tally)
        }
        return tally.count(.update, entity: entity.index) - before
    }

    // MARK: Statements

    /// The condition that a row would change.
    private var differs: String {
        let own = zip(assignments.columns, columns).filter { !$0.0.isDerived }.map(\.1)
        return "(\(own.map { "\(selection.alias).\($0.name) IS NOT \($0.value)" }.joined(separator: " OR ")))"
    }

    private func update(_ condition: String) throws(StoreError) -> PreparedStatement {
        let set = columns.map { "\($0.name) = \($0.value)" }.joined(separator: ", ")
        return try PreparedStatement(
            store.connection,
            sql: "UPDATE \(SQLText.quoted(entity.tableName)) AS \(selection.alias) SET \(set) WHERE \(condition)")
    }

    /// Binds the constants that a statement reads: one that checks a computed value may read none.
    func bindConstants(_ statement: PreparedStatement) {
        for (index, value) in constants.prefix(statement.parameterCount).enumerated() {
            statement.bind(index + 1, value)
        }
    }

    private func bindSelection(_ statement: PreparedStatement) {
        bindConstants(statement)
        selection.bind(to: statement)
    }

    // MARK: Checks

    /// Looks for an object that would get a value it may not have, before anything is written.
    private func checkValues() throws {
        for (column, sql) in zip(assignments.columns, columns) {
            guard case .computed = column.source, !column.isDerived else { continue }
            let attribute = column.attribute
            if attribute.constraints.isEmpty, attribute.isOptional { continue }
            let statement = try PreparedStatement(
                store.connection,
                sql: """
                    SELECT \(sql.value), \(selection.alias).pk, \
                    \(selection.alias).\(SQLText.quoted(entity.identity.columnName)) \
                    FROM \(selection.source) WHERE \(selection.condition)
                    """)
            bindSelection(statement)
            while try statement.step() {
                if let failure = BatchAssignments.failure(of: statement.value(0), attribute, entity) {
                    let id = ManagedObjectID(entity, statement.integer(1))
                    throw BatchError(ValidationFailures(failure.about(statement.value(2), id)))
                }
            }
        }
    }

    /// Marks the values that other objects derive from the objects of a query of keys. Values that objects derive from
    /// their own values are among the assignments.
    private func markReaders(_ selection: String) throws(StoreError) {
        for column in assignments.columns {
            let value = entity.node(of: column.attribute.slot)
            try propagation.markReaders(of: value, selection: selection, own: false)
        }
    }

    // MARK: By a list of keys

    /// Lists the keys of the objects that change. Returns false where the list would be too long and is not needed.
    private func listKeys(_ keys: inout KeySet, mustList: Bool) throws(StoreError) -> Bool {
        let statement = try PreparedStatement(
            store.connection,
            sql: """
                SELECT \(selection.alias).pk FROM \(selection.source) \
                WHERE \(selection.condition) AND \(differs)
                """)
        bindSelection(statement)
        while try statement.step() {
            keys.insert(statement.integer(0))
            if keys.count > Self.listedCount, selection.isLocal, !mustList { return false }
        }
        return true
    }

    private func change(
        _ keys: [Int64], _ update: PreparedStatement, _ tally: inout ChangeTally
    ) throws(StoreError) {
        let list = HistoryRange.list(keys[...])
        try markReaders("SELECT value FROM json_each(\(SQLText.literal(list)))")
        bindConstants(update)
        update.bind(constants.count + 1, list)
        try update.run()
        try history.append(
            keys: keys, entity: entity, kind: .update, properties: assignments.properties, to: store)
        tally.note(.update, entity: entity.index, count: keys.count)
    }

    // MARK: By windows of the primary key

    private func changeWindows(_ tally: inout ChangeTally) throws(StoreError) {
        let (first, last) = ("?\(constants.count + 1)", "?\(constants.count + 2)")
        let condition = """
            \(selection.alias).pk BETWEEN \(first) AND \(last) AND \(selection.condition) AND \(differs)
            """
        let update = try update(condition)
        func query(_ columns: String) throws(StoreError) -> PreparedStatement {
            try PreparedStatement(
                store.connection,
                sql: "SELECT \(columns) FROM \(selection.source) WHERE \(condition)")
        }
        let pk = "\(selection.alias).pk"
        let extent = try query("count(*), min(\(pk)), max(\(pk))")
        let list = try query("json_group_array(\(pk))")
        for statement in [update, extent, list] { bindSelection(statement) }
        let bound = try PreparedStatement(
            store.connection,
            sql: "SELECT pk FROM \(SQLText.quoted(entity.tableName)) WHERE pk > ? ORDER BY pk LIMIT 1 OFFSET ?")
        var start = Int64.min
        while start < .max {
            bound.bindAll(start, HistoryRange.maximumCount - 1)
            let end = try bound.step() ? bound.integer(0) : .max
            bound.reset()
            for statement in [update, extent, list] {
                statement.bind(constants.count + 1, start == .min ? start : start + 1)
                statement.bind(constants.count + 2, end)
            }
            try changeWindow(update, extent, list, &tally)
            start = end
        }
    }

    private func changeWindow(
        _ update: PreparedStatement, _ extent: PreparedStatement, _ list: PreparedStatement, _ tally: inout ChangeTally
    ) throws(StoreError) {
        _ = try extent.step()
        let (count, first, last) = (extent.integer(0), extent.integer(1), extent.integer(2))
        extent.reset()
        if count == 0 { return }
        let range: HistoryRange
        if last - first + 1 == count {
            range = HistoryRange(first: first, last: last, kind: .update, properties: assignments.properties)
            try markReaders(
                "SELECT pk FROM \(SQLText.quoted(entity.tableName)) WHERE pk BETWEEN \(first) AND \(last)")
        } else {
            _ = try list.step()
            let objects = list.text(0)
            list.reset()
            range = HistoryRange(
                first: first, last: last, count: count, objects: objects, kind: .update,
                properties: assignments.properties)
            try markReaders("SELECT value FROM json_each(\(SQLText.literal(objects)))")
        }
        try update.run()
        try history.append(range, entity: entity, to: store)
        tally.note(.update, entity: entity.index, count: Int(count))
    }
}

/// The objects of a request as SQL: the objects of one entity, without its sub-entities.
struct BatchSelection {
    let alias: String
    /// The end of a FROM clause.
    let source: String
    let condition: String
    /// Tells whether the condition reads nothing but the object's own columns.
    let isLocal: Bool
    private let bindings: [Value]
    private let firstParameter: Int

    /// Writes the selection.
    ///
    /// - Parameters:
    ///   - time: what `now()` is unless the request says so, in microseconds since 1970 UTC.
    ///   - firstParameter: the number of the first parameter; those before it are the statement's own.
    init(
        _ request: CheckedFetchRequest, entity: Entity, includesPlaceholders: Bool, time: Int64,
        firstParameter: Int = 1
    ) throws(FetchPredicateError) {
        var compiler = PredicateCompiler(
            model: request.model, now: request.now ?? time, firstParameter: firstParameter)
        try compiler.open(0, entity: entity.index)
        var parts: [String] = []
        if let predicate = request.predicate { parts.append("(\(try compiler.condition(predicate)))") }
        alias = compiler.scopes.alias(0)
        if entity.sharesTable { parts.append("\(alias)._entity = \(SQLText.literal(entity.name))") }
        if !includesPlaceholders || !request.includesPlaceholders { parts.append("\(alias)._placeholder = 0") }
        source = compiler.scopes.from(0)
        condition = parts.isEmpty ? "1" : "(\(parts.joined(separator: " AND ")))"
        isLocal = !compiler.scopes.hasJoins(0) && !condition.contains("SELECT")
        bindings = compiler.bindings
        self.firstParameter = firstParameter
    }

    /// Binds the values of the condition.
    func bind(to statement: PreparedStatement) {
        for (index, value) in bindings.enumerated() { statement.bind(firstParameter + index, value) }
    }
}
