import StoreSQL

/// The steps of a transaction that puts the store of one schema in the place of another store.
struct SchemaExchange {
    /// A view in another schema that reads the old store.
    struct OutsideView {
        let name: String
        let definition: String
    }

    private let connection: PostgresConnection
    /// The schema of the old store while both are there.
    private let old: String
    private let new: String

    init(_ connection: PostgresConnection, old: String, new: String) {
        self.connection = connection
        self.old = old
        self.new = new
    }

    private static let action = "replace the store"

    // MARK: Rights

    /// Gives all roles their rights again.
    func copyGrants() throws(StoreError) {
        let grants = try query(grantList).rows.map { PostgresStatement($0.text(0)) }
        try connection.run(grants, "grant the rights on the new store")
    }

    /// Makes the statements that give all roles their rights again. A table that the old store did not have gets the
    /// rights on its metadata. A role with rights on the whole store has some there.
    private var grantList: String {
        let (new, old) = (SQLText.literal(new), SQLText.literal(old))
        let role = "CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END"
        return """
            WITH before AS (SELECT c.relname, a.grantee, a.privilege_type AS privilege, c.relowner, c.oid \
            FROM pg_class c, aclexplode(c.relacl) a \
            WHERE c.relnamespace = to_regnamespace(quote_ident(\(old))) AND a.grantee <> c.relowner), \
            present AS (SELECT c.relname FROM pg_class c \
            WHERE c.relnamespace = to_regnamespace(quote_ident(\(new))) AND c.relkind IN ('r', 'v')), \
            known AS (SELECT c.relname FROM pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident(\(old)))) \
            SELECT format('GRANT %s ON %I.%I TO %s', g.privilege, \(new), p.relname, \(role)) FROM present p \
            JOIN before g ON g.relname = CASE WHEN p.relname IN (SELECT relname FROM known) THEN p.relname \
            ELSE '_metadata' END LEFT JOIN pg_roles r ON r.oid = g.grantee \
            UNION ALL \
            SELECT format('GRANT %s (%I) ON %I.%I TO %s', g.privilege_type, t.attname, \(new), c.relname, \(role)) \
            FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) g \
            LEFT JOIN pg_roles r ON r.oid = g.grantee \
            WHERE c.relnamespace = to_regnamespace(quote_ident(\(old))) AND EXISTS (SELECT 1 FROM pg_attribute n \
            WHERE n.attrelid = to_regclass(format('%I.%I', \(new), c.relname)) AND n.attname = t.attname) \
            UNION ALL \
            SELECT format('GRANT %s ON SCHEMA %I TO %s', g.privilege_type, \(new), \(role)) \
            FROM pg_namespace s, aclexplode(s.nspacl) g LEFT JOIN pg_roles r ON r.oid = g.grantee \
            WHERE s.nspname = \(old) AND g.grantee <> s.nspowner
            """
    }

    // MARK: Removal

    /// Removes the old store.
    ///
    /// - Throws: ``StoreError``, also where somebody's own tables or views stand in its schema or rest on it.
    func dropOld() throws(StoreError) {
        try OutsideViews(of: old).removeThoseOverAllStores(connection, Self.action)
        let own = try relations(of: old).filter(\.isOwn)
        let views = own.filter(\.isView).map(\.name).joined(separator: ", ")
        let tables = own.filter { !$0.isView }.map(\.name).joined(separator: ", ")
        if !views.isEmpty { _ = try query("DROP VIEW \(views)") }
        if !tables.isEmpty { _ = try query("DROP TABLE \(tables)") }
        _ = try query("DROP SCHEMA \(SQLText.quoted(old))")
    }

    /// Returns the names of objects in a store's schema that do not belong to the store.
    func namesOfGuests(in schema: String) throws(StoreError) -> [String] {
        try relations(of: schema).filter { !$0.isOwn }.map(\.name)
    }

    /// Returns the tables, views and sequences in a store's schema, with names that have the schema.
    private func relations(of schema: String) throws(StoreError) -> [(name: String, isView: Bool, isOwn: Bool)] {
        let metadata = try query("SELECT key, value FROM \(SQLText.quoted(schema))._metadata").rows
        let values = Dictionary(uniqueKeysWithValues: metadata.map { ($0.text(0), $0.text(1)) })
        let names = StoredModel { values[$0] }.model.map { PostgresSchema($0).relationNames } ?? []
        return try query(
            """
            SELECT format('%I.%I', \(SQLText.literal(schema)), relname), relkind = 'v', relname FROM pg_class \
            WHERE relnamespace = to_regnamespace(quote_ident(\(SQLText.literal(schema)))) \
            AND relkind NOT IN ('i', 'I', 't', 'c') ORDER BY 1
            """
        ).rows.map { ($0.text(0), $0.flag(1), names.contains($0.text(2))) }
    }

    // MARK: Views of others

    /// Returns the views in other schemas that read a store, with definitions that name its schema.
    func outsideViews(of schema: String) throws(StoreError) -> [OutsideView] {
        let results = try connection.run(
            [
                // The definition leaves out the schemas of the search path.
                PostgresStatement("SELECT set_config('search_path', '', true)"),
                PostgresStatement(
                    """
                    SELECT DISTINCT format('%I.%I', n.nspname, v.relname), v.relkind::text, \
                    coalesce(' WITH (' || array_to_string(v.reloptions, ', ') || ')', '') || ' AS ' \
                    || pg_get_viewdef(v.oid) \(OutsideViews(of: schema).source) ORDER BY 1
                    """),
            ], Self.action)
        return results[1].rows.map { row in
            let isPlain = row.text(1) == "v"
            return OutsideView(name: row.text(0), definition: isPlain ? row.text(2) : "")
        }
    }

    /// Lets views read the new store. Returns the names of the views that cannot: their columns are gone, or they
    /// belong to another role.
    func remake(_ views: [OutsideView]) throws(StoreError) -> [String] {
        var left: [String] = []
        for view in views {
            guard !view.definition.isEmpty else {
                left.append(view.name)
                continue
            }
            do throws(StoreError) {
                try connection.run(
                    ["SAVEPOINT part", "CREATE OR REPLACE VIEW \(view.name)\(view.definition)", "RELEASE part"]
                        .map { PostgresStatement($0) }, Self.action)
            } catch {
                if error.code == .disconnected { throw error }
                _ = try query("ROLLBACK TO part")
                left.append(view.name)
            }
        }
        return left
    }

    private func query(_ sql: String) throws(StoreError) -> PostgresResult {
        try connection.run(PostgresStatement(sql), Self.action)
    }
}
