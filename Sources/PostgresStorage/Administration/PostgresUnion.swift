import StoreSQL

/// The views over the stores of all partitions, where each store is a schema of one database.
///
/// Each table and view of a store has a view of its name in one further schema, with the rows of all stores. The column
/// ``column`` stands first, with the partition.
package struct PostgresUnion: Sendable {
    /// The views as a making left them.
    package struct Outcome: Equatable, Sendable {
        /// The schema of the views.
        package let schema: String
        /// The partitions whose stores the views show.
        package let partitions: [Int32]
        /// Why other stores are left out, by their partitions.
        package let leftOut: [Int32: String]
        /// Whether the views were made or replaced: they were others before, or none.
        package let isNew: Bool
    }

    /// The name of the views' first column.
    static let column = "_store"
    /// The word in place of the partition. It is no number, so no store's schema has that name.
    private static let word = "all"

    private let url: String
    private let mark: String
    private let model: ObjectModel
    private let options: PostgresOptions
    private let address: ConnectionAddress
    /// The beginning of all schemas, up to the partition.
    private let prefix: String

    /// - Parameters:
    ///   - url: the URL of the stores.
    ///   - mark: the text that stands for the partition in it.
    /// - Returns: nil where the stores stand in several databases, which no view reaches.
    /// - Throws: ``StoreError`` with code `store.unavailable` where `url` is no URL.
    package init?(
        url: String, mark: String, model: ObjectModel, options: PostgresOptions = PostgresOptions()
    ) throws(StoreError) {
        func address(_ text: String) throws(StoreError) -> ConnectionAddress {
            try ConnectionAddress(url.replacing(mark, with: text), schema: "ingest")
        }
        let (first, second) = (try address("0"), try address("1"))
        guard first.url == second.url, first.schema != second.schema else { return nil }
        self.address = try address(Self.word)
        (self.url, self.mark, self.model, self.options) = (url, mark, model, options)
        prefix = String(zip(first.schema, second.schema).prefix { $0 == $1 }.map(\.0))
    }

    /// Returns the partitions whose stores the database has.
    ///
    /// - Throws: ``StoreError`` where the server does not answer.
    package func partitions() throws(StoreError) -> [Int32] {
        let connection = try PostgresConnection(
            address, .reader, lockTimeoutMilliseconds: options.lockTimeoutMilliseconds)
        return try stores(connection).map(\.partition)
    }

    private static let action = "make the views of all stores"

    /// Makes the views, or replaces them where the stores or their columns were others before.
    ///
    /// - Parameter partition: a partition whose store has the model. Stores of other columns are left out.
    /// - Throws: ``StoreError``: `store.unavailable` where a right is missing, or views of others rest on the views.
    package func make(like partition: Int32) throws(StoreError) -> Outcome {
        let connection = try PostgresConnection(
            address, .reader, lockTimeoutMilliseconds: options.lockTimeoutMilliseconds)
        var lock = PostgresStatement("SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))")
        lock.bind(address.schema)
        do throws(StoreError) {
            // Of several workers one makes the views, and the others find them made.
            try connection.run([.begin, lock], Self.action)
            let outcome = try make(connection, like: partition)
            try connection.run(PostgresStatement("COMMIT"), Self.action)
            return outcome
        } catch {
            connection.undo()
            throw error
        }
    }

    private func make(_ connection: PostgresConnection, like partition: Int32) throws(StoreError) -> Outcome {
        let found = try stores(connection)
        guard let pattern = found.first(where: { $0.partition == partition }) else {
            throw .noStore(at: try ConnectionAddress(url.replacing(mark, with: "\(partition)"), schema: "ingest"))
        }
        var leftOut: [Int32: String] = [:]
        for store in found {
            if !store.isReadable {
                leftOut[store.partition] = "the role may not read it"
            } else if store.columns != pattern.columns {
                leftOut[store.partition] = "it is of another model or version"
            }
        }
        let stores = found.filter { leftOut[$0.partition] == nil }
        let views = try views(connection, of: stores, like: pattern)
        let marks = views.map(\.body) + stores.map { "\($0.mark)" }
        let comment = OutsideViews.comment(String(FetchCursor.fingerprint(marks), radix: 16))
        let isNew = try replace(by: views, comment, connection)
        return Outcome(
            schema: address.schema, partitions: stores.map(\.partition), leftOut: leftOut, isNew: isNew)
    }

    // MARK: Stores

    private struct FoundStore {
        let partition: Int32
        let schema: String
        /// The number of the table of metadata, which no other store gets.
        let mark: Int64
        let isReadable: Bool
        /// A digest of all columns with their types.
        let columns: String
    }

    /// Returns the stores that the database has, in the order of their partitions.
    private func stores(_ connection: PostgresConnection) throws(StoreError) -> [FoundStore] {
        var query = PostgresStatement(
            """
            SELECT n.nspname::text, m.oid::int8, \
            has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(m.oid, 'SELECT'), \
            (SELECT md5(string_agg(format('%s %s %s %s', c.relname, a.attname, a.atttypid, a.attcollation), ',' \
            ORDER BY c.relname, a.attname)) \(Self.columns) AND c.relnamespace = n.oid) \
            FROM pg_namespace n JOIN pg_class m ON m.relnamespace = n.oid AND m.relname = '_metadata' \
            WHERE starts_with(n.nspname::text, $2::text)
            """)
        query.bind(Array(PostgresSchema(model).relationNames), prefix)
        var stores: [FoundStore] = []
        for row in try connection.run(query, Self.action).rows {
            guard let partition = try partition(ofSchema: row.text(0)) else { continue }
            stores.append(
                FoundStore(
                    partition: partition, schema: row.text(0), mark: row.integer(1), isReadable: row.flag(2),
                    columns: row.text(3)))
        }
        return stores.sorted { $0.partition < $1.partition }
    }

    /// The columns of a store's tables and views.
    private static let columns = """
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relkind IN ('r', 'v') \
        AND c.relname = ANY($1::text[]) AND a.attnum > 0 AND NOT a.attisdropped
        """

    private func partition(ofSchema name: String) throws(StoreError) -> Int32? {
        let digits = name.dropFirst(prefix.count).prefix { ("0"..."9").contains($0) }
        guard let partition = Int32(digits), "\(partition)" == digits else { return nil }
        let own = try ConnectionAddress(url.replacing(mark, with: "\(partition)"), schema: "ingest")
        return own.schema == name ? partition : nil
    }

    // MARK: Views

    private struct View {
        let name: String
        let body: String
    }

    /// Returns the views of all stores, with the columns in the order of one of them.
    private func views(
        _ connection: PostgresConnection, of stores: [FoundStore], like pattern: FoundStore
    ) throws(StoreError) -> [View] {
        var query = PostgresStatement(
            """
            SELECT c.relname::text, a.attname::text \(Self.columns) AND c.relnamespace = to_regnamespace(quote_ident(\
            $2::text)) ORDER BY c.relname, a.attnum
            """)
        query.bind(Array(PostgresSchema(model).relationNames), pattern.schema)
        var columns: [String: [String]] = [:]
        for row in try connection.run(query, Self.action).rows {
            // A role that may read the views reads no key, value or header of a dead letter.
            if row.text(0) == "_dead_letter", !PostgresGrants.openColumns.contains(row.text(1)) { continue }
            columns[row.text(0), default: []].append(SQLText.quoted(row.text(1)))
        }
        return columns.sorted { $0.key < $1.key }.map { name, columns in
            let list = columns.joined(separator: ", ")
            let parts = stores.map { store in
                "SELECT \(store.partition) AS \(Self.column), \(list) "
                    + "FROM \(SQLText.quoted(store.schema)).\(SQLText.quoted(name))"
            }
            return View(name: name, body: parts.joined(separator: " UNION ALL "))
        }
    }

    private func qualified(_ name: String) -> String { "\(SQLText.quoted(address.schema)).\(SQLText.quoted(name))" }

    /// Puts views in the place of the former ones.
    ///
    /// - Returns: false where they are there already.
    private func replace(
        by views: [View], _ comment: String, _ connection: PostgresConnection
    ) throws(StoreError) -> Bool {
        let wanted = Set(views.map(\.name))
        let former = try UnionSchema(connection, address.schema)
        if let fault = former.fault(wanted: wanted) { throw fault }
        if former.comments == Dictionary(uniqueKeysWithValues: wanted.map { ($0, comment) }) { return false }
        var statements = former.isThere ? [] : ["CREATE SCHEMA \(SQLText.quoted(address.schema))"]
        statements += former.comments.keys.filter { !wanted.contains($0) }.sorted()
            .map { "DROP VIEW \(qualified($0))" }
        statements.append("SAVEPOINT views")
        try run(statements, connection)
        let comments = views.map { "COMMENT ON VIEW \(qualified($0.name)) IS \(SQLText.literal(comment))" }
        func creation(_ verb: String) -> [String] { views.map { "\(verb) VIEW \(qualified($0.name)) AS \($0.body)" } }
        do throws(StoreError) {
            // Rights on the views stay, and views of others.
            try run(creation("CREATE OR REPLACE") + comments, connection)
        } catch {
            if error.code != .database { throw error }
            // A view that loses or renames a column has to go first.
            let removals = views.map { "DROP VIEW IF EXISTS \(qualified($0.name))" }
            try run(["ROLLBACK TO views"] + removals + creation("CREATE") + comments, connection)
        }
        return true
    }

    private func run(_ statements: [String], _ connection: PostgresConnection) throws(StoreError) {
        try connection.run(statements.map { PostgresStatement($0) }, Self.action)
    }
}
