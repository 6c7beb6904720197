import StoreSQL

/// The rights of a role of the server on a store.
package enum PostgresRights: String, CaseIterable, Sendable {
    /// Reads objects, history and records, but of dead-letter records neither key, value nor headers.
    case reader
    /// As a reader, and reads dead-letter records whole.
    case inspector
    /// Writes the store, as a worker does.
    case writer
}

/// The statements that give a role its rights on a store, and take its former rights away.
struct PostgresGrants {
    let schema: String
    let role: String
    let rights: PostgresRights
    /// The columns of dead-letter records that hold no part of the record.
    static let openColumns = [
        "id", "time", "topic", "partition", "offset", "line", "stage", "code", "reason", "valueBytes", "attempts",
        DeadLetter.timestampColumn,
    ]

    var statements: [String] {
        let (schema, role) = (SQLText.quoted(schema), SQLText.quoted(role))
        var statements = [
            "REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM \(role)",
            "GRANT USAGE ON SCHEMA \(schema) TO \(role)",
        ]
        let all = "ON ALL TABLES IN SCHEMA \(schema) TO \(role)"
        switch rights {
        case .reader:
            let columns = Self.openColumns.map(SQLText.quoted).joined(separator: ", ")
            statements += [
                "GRANT SELECT \(all)", "REVOKE SELECT ON _dead_letter FROM \(role)",
                "GRANT SELECT (\(columns)) ON _dead_letter TO \(role)",
            ]
        case .inspector: statements.append("GRANT SELECT \(all)")
        case .writer: statements.append("GRANT SELECT, INSERT, UPDATE, DELETE \(all)")
        }
        return statements
    }
}

extension PostgresConnection {
    /// - Throws: ``StoreError`` with code `store.unavailable` where there is no such role, or it owns the store.
    fileprivate func checkMayGrant(to role: String, at address: ConnectionAddress) throws(StoreError) {
        var query = PostgresStatement(
            """
            SELECT EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = '_metadata'::regclass AND c.relowner = r.oid) \
            FROM pg_roles r WHERE r.rolname = $1::text
            """)
        query.bind(role)
        guard let row = try run(query, "find the role").first else {
            throw StoreError(
                .unavailable, "There is no role '\(role)' at \(address)", remedy: "Make it with CREATE ROLE")
        }
        if !row.flag(0) { return }
        throw StoreError(
            .unavailable, "The role '\(role)' owns the store at \(address), and would lose its own rights",
            remedy: "Grant them to another role, and use that one in the URL of its program")
    }
}

extension Store {
    /// Gives a role of the server rights on a store, in place of its present rights. The role of the URL owns the
    /// store.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where there is no store, or the URL's role may not grant. Also
    ///   where there is no such role, or it owns the store.
    package static func grantInPostgres(
        _ rights: PostgresRights, to role: String, url: String, schema: String = "ingest", model: ObjectModel
    ) throws(StoreError) {
        let storage = try PostgresStorage(url: url, schema: schema, model: model, options: PostgresOptions())
        try storage.checkReady()
        let connection = try storage.connect(.reader)
        try connection.checkMayGrant(to: role, at: storage.address)
        let grants = PostgresGrants(schema: storage.address.schema, role: role, rights: rights)
        let statements = [PostgresStatement.begin.sql] + grants.statements + ["COMMIT"]
        do throws(StoreError) {
            try connection.run(statements.map { PostgresStatement($0) }, "grant rights to '\(role)'")
        } catch {
            connection.undo()
            throw error
        }
    }
}
