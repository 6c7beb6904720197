// The history: changes alike share a row, and the transaction's own row comes last.
extension PostgresWriterSession {
    func openHistory(_ header: HistoryHeader) throws(StoreError) -> Int64 {
        openHeader = header
        // It counts from the token that the commit finds.
        if isDraft { return 1 }
        // The locked row of the claim keeps the number this transaction's own.
        if lastToken == nil { try connection.settle("begin a transaction") }
        let token = (lastToken ?? 0) + 1
        lastToken = token
        return token
    }

    func closeHistory(token: Int64, changeCount: Int64) throws(StoreError) {
        if !isDraft { try connection.settle("save") }
        guard let header = openHeader else { return }
        openHeader = nil
        let skipped = isDraft && share?.faults.contains(.skipsTokens) == true ? " + 1" : ""
        let counting = "UPDATE _token SET token = $1::int8\(skipped) WHERE id = 1"
        if changeCount == 0 {
            var statement = PostgresStatement(counting)
            statement.bind(token, countedFrom: .token)
            return enqueue(statement)
        }
        var statement = PostgresStatement(
            """
            WITH counted AS (\(counting)) INSERT INTO _history_transaction \
            (token, time, author, context, source, "firstChange", trace, "changeCount", epoch) \
            VALUES ($1::int8, $2::int8, $3::text, $4::text, $5::text, $6::int8, $7::text, $8::int8, \
            coalesce((SELECT value::int8 FROM _metadata WHERE key = 'epoch'), 0))
            """)
        statement.bind(token, countedFrom: .token)
        statement.bind(header.time, header.author, header.context, header.source)
        statement.bind(header.firstChange, countedFrom: .change)
        statement.bind(header.trace, changeCount)
        enqueue(statement)
    }

    // MARK: Changes

    func append(_ entries: HistoryEntries, token: Int64) throws(StoreError) {
        if entries.count == 0 { return }
        let groups = ChangeGroups(entries)
        let insertions = [
            groups.single.isEmpty ? nil : Self.changeInsertion,
            groups.ranges.isEmpty ? nil : Self.rangeInsertion(from: groups.single.isEmpty ? 3 : 9),
        ].compactMap { $0 }
        var statement = PostgresStatement(
            insertions.count == 1 ? insertions[0] : "WITH changes AS (\(insertions[0])) \(insertions[1])")
        statement.bind(entries.firstChange, countedFrom: .change)
        statement.bind(token, countedFrom: .token)
        try bind(entries, at: groups.single, to: &statement)
        bind(groups.ranges, behind: groups.single.count, to: &statement)
        enqueue(statement)
    }

    private static let changeInsertion = """
        INSERT INTO _history_change (id, token, entity, object, identity, change, properties, tombstone) \
        SELECT $1::int8 + r.n - 1, $2::int8, r.entity, r.object, r.identity, r.change, r.properties, r.tombstone \
        FROM unnest($3::text[], $4::int8[], $5::bytea[], $6::int8[], $7::text[], $8::text[]) \
        WITH ORDINALITY AS r(entity, object, identity, change, properties, tombstone, n)
        """

    private func bind(
        _ entries: HistoryEntries, at indexes: [Int], to statement: inout PostgresStatement
    ) throws(StoreError) {
        if indexes.isEmpty { return }
        statement.bind(indexes.map { entries[$0].object.entity.name }, indexes.map { entries[$0].object.key })
        try statement.bind(indexes.map { entries[$0].object.identity }, as: .anyValue)
        statement.bind(
            indexes.map { Int64(entries[$0].kind.rawValue) }, indexes.map { entries[$0].properties },
            indexes.map { entries[$0].preservedValues })
    }

    /// The insertion of ranges, whose own parameters begin at a number.
    private static func rangeInsertion(from first: Int) -> String {
        let types = ["int8", "text", "int8", "int8", "text", "int8", "text"]
        let lists = types.enumerated().map { "$\(first + 1 + $0)::\($1)[]" }.joined(separator: ", ")
        return """
            INSERT INTO _history_range (id, count, token, entity, first, last, objects, change, properties) \
            SELECT $1::int8 + $\(first)::int8 + sum(r.count) OVER (ORDER BY r.n) - r.count, r.count, $2::int8, r.entity, \
            r.first, r.last, r.objects, r.change, r.properties \
            FROM unnest(\(lists)) WITH ORDINALITY AS r(count, entity, first, last, objects, change, properties, n)
            """
    }

    private func bind(
        _ ranges: [(entity: Entity, range: HistoryRange)], behind count: Int, to statement: inout PostgresStatement
    ) {
        if ranges.isEmpty { return }
        statement.bind(
            Int64(count), ranges.map(\.range.count), ranges.map(\.entity.name), ranges.map(\.range.first),
            ranges.map(\.range.last), ranges.map(\.range.objects), ranges.map { Int64($0.range.kind.rawValue) },
            ranges.map(\.range.properties))
    }
}
