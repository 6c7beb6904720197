import StoreSQL

/// The views in other schemas that read the store of a schema. The views over all stores are those that workers keep.
struct OutsideViews {
    private let schema: String

    init(of schema: String) { self.schema = schema }

    /// The beginning of the comment by which the views over all stores are known; `psql` shows it with `\d+`.
    private static let mark = "The rows of all stores. The worker keeps this view"

    /// Returns the comment of a view over all stores.
    ///
    /// - Parameter fingerprint: of all these views, and of the stores.
    static func comment(_ fingerprint: String) -> String { "\(mark) (\(fingerprint))" }

    /// The condition that a relation is a view over all stores.
    ///
    /// - Parameter number: the relation's number in SQL.
    static func isOverAllStores(_ number: String) -> String {
        "coalesce(starts_with(obj_description(\(number), 'pg_class'), \(SQLText.literal(mark))), false)"
    }

    /// The tables that a query of the views reads: the view is `v`, and its schema `n`.
    var source: String {
        """
        FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class \
        JOIN pg_namespace n ON n.oid = v.relnamespace JOIN pg_class t ON t.oid = d.refobjid \
        WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass \
        AND t.relnamespace = to_regnamespace(quote_ident(\(SQLText.literal(schema)))) \
        AND v.relnamespace <> t.relnamespace
        """
    }

    /// Returns the names of the views but for those over all stores.
    func namesOfOthers(_ connection: PostgresConnection, _ action: String) throws(StoreError) -> [String] {
        try names("NOT \(Self.isOverAllStores("v.oid"))", connection, action)
    }

    /// Removes the views over all stores. The next worker that opens a store makes them again.
    func removeThoseOverAllStores(_ connection: PostgresConnection, _ action: String) throws(StoreError) {
        let names = try names(Self.isOverAllStores("v.oid"), connection, action)
        if names.isEmpty { return }
        try connection.run(PostgresStatement("DROP VIEW \(names.joined(separator: ", "))"), action)
    }

    private func names(
        _ condition: String, _ connection: PostgresConnection, _ action: String
    ) throws(StoreError) -> [String] {
        let list = "SELECT DISTINCT format('%I.%I', n.nspname, v.relname) \(source) AND \(condition) ORDER BY 1"
        return try connection.run(PostgresStatement(list), action).rows.map { $0.text(0) }
    }
}
