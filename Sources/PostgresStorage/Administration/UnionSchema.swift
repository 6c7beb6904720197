import StoreSQL

/// The schema of the views over all stores, as a worker finds it.
struct UnionSchema {
    private let name: String
    private let role: String
    private let database: String
    /// Whether the role may make the schema.
    private let mayMake: Bool
    /// Whether there is a schema.
    let isThere: Bool
    /// Whether the role may make views in it.
    private let mayCreate: Bool
    /// The comments of the views that workers made, by their names.
    private(set) var comments: [String: String] = [:]
    /// The owners of such views that do not belong to the role.
    private var otherOwners: Set<String> = []
    /// The other tables and views.
    private var guests: Set<String> = []

    init(_ connection: PostgresConnection, _ name: String) throws(StoreError) {
        self.name = name
        var rights = PostgresStatement(
            """
            SELECT current_user::text, current_database()::text, \
            has_database_privilege(current_database(), 'CREATE'), n.oid IS NOT NULL, \
            coalesce(has_schema_privilege(n.oid, 'CREATE') AND has_schema_privilege(n.oid, 'USAGE'), false) \
            FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = $1::text
            """)
        rights.bind(name)
        var relations = PostgresStatement(
            """
            SELECT c.relname::text, obj_description(c.oid, 'pg_class'), \(OutsideViews.isOverAllStores("c.oid")), \
            pg_has_role(c.relowner, 'USAGE'), pg_get_userbyid(c.relowner)::text FROM pg_class c \
            WHERE c.relnamespace = to_regnamespace(quote_ident($1::text)) AND c.relkind NOT IN ('i', 'I', 't')
            """)
        relations.bind(name)
        let results = try connection.run([rights, relations], "make the views of all stores")
        guard let row = results[0].first else { throw .disconnected("make the views of all stores") }
        role = row.text(0)
        database = row.text(1)
        mayMake = row.flag(2)
        isThere = row.flag(3)
        mayCreate = row.flag(4)
        for row in results[1].rows {
            guard row.flag(2) else {
                guests.insert(row.text(0))
                continue
            }
            comments[row.text(0)] = row.text(1)
            if !row.flag(3) { otherOwners.insert(row.text(4)) }
        }
    }

    /// Returns the reason why the views cannot be made.
    ///
    /// - Parameter wanted: their names.
    func fault(wanted: Set<String>) -> StoreError? {
        func refusal(_ message: String, _ remedy: String) -> StoreError {
            StoreError(.unavailable, "Could not make the views of all stores: \(message)", remedy: remedy)
        }
        let (schema, role) = (SQLText.quoted(name), SQLText.quoted(role))
        if !isThere {
            if mayMake { return nil }
            return refusal(
                "the role \(role) may not make the schema \(name) in the database \(database)",
                "As an administrator: CREATE SCHEMA \(schema) AUTHORIZATION \(role)")
        }
        if let owner = otherOwners.min() {
            return refusal(
                "those in the schema \(name) belong to the role \(owner)",
                "As that role: DROP SCHEMA \(schema) CASCADE. Or let all workers have one role")
        }
        if !mayCreate {
            return refusal(
                "the role \(role) may not make views in the schema \(name)",
                "As its owner: GRANT CREATE, USAGE ON SCHEMA \(schema) TO \(role)")
        }
        guard let guest = guests.intersection(wanted).min() else { return nil }
        return refusal(
            "the schema \(name) has a table or view '\(guest)' of another program",
            "Give that one another name, or move it: ALTER VIEW … SET SCHEMA")
    }
}
