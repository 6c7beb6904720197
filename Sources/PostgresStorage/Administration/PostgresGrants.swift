/// The rights of a role of the server on a store.
package enum PostgresRights: String, CaseIterable, Sendable {
    /// Reads objects, history and records, but of dead-letter records neither key, value nor headers.
    case reader
    /// As a reader, and reads dead-letter records whole.
    case inspector
    /// Writes the store, as a worker does.
    case writer
}

/// The statements that give a role its rights on a store, and take away those that it had.
struct PostgresGrants {
    let schema: String
    let role: String
    let rights: PostgresRights
    /// The columns of dead-letter records that hold no part of the record.
    private static let openColumns =
        "id, time, topic, partition, \"offset\", line, stage, code, reason, \"valueBytes\", attempts"

    var statements: [String] {
        let (schema, role) = (SQLText.quoted(schema), SQLText.quoted(role))
        var statements = [
            "REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM \(role)",
            "GRANT USAGE ON SCHEMA \(schema) TO \(role)",
        ]
        let all = "ON ALL TABLES IN SCHEMA \(schema) TO \(role)"
        switch rights {
        case .reader:
            statements += [
                "GRANT SELECT \(all)", "REVOKE SELECT ON _dead_letter FROM \(role)",
                "GRANT SELECT (\(Self.openColumns)) ON _dead_letter TO \(role)",
            ]
        case .inspector: statements.append("GRANT SELECT \(all)")
        case .writer: statements.append("GRANT SELECT, INSERT, UPDATE, DELETE \(all)")
        }
        return statements
    }
}

extension Store {
    /// Gives a role of the server rights on a store, instead of those that it has. The role of the URL owns the store.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where there is no store, or the URL's role may not grant;
    ///   there is no such role.
    package static func grantInPostgres(
        _ rights: PostgresRights, to role: String, url: String, schema: String = "ingest", model: ObjectModel
    ) throws(StoreError) {
        let storage = try PostgresStorage(url: url, schema: schema, model: model, options: PostgresOptions())
        try storage.checkReady()
        let connection = try storage.connect(.reader)
        var query = PostgresStatement("SELECT 1 FROM pg_roles WHERE rolname = $1::text")
        query.bind(role)
        if try connection.run(query, "find the role").first == nil {
            throw StoreError(
                .unavailable, "There is no role '\(role)' at \(storage.address)", remedy: "Make it with CREATE ROLE")
        }
        let grants = PostgresGrants(schema: storage.address.schema, role: role, rights: rights)
        let statements = ["BEGIN"] + grants.statements + ["COMMIT"]
        do throws(StoreError) {
            try connection.run(statements.map { PostgresStatement($0) }, "grant rights to '\(role)'")
        } catch {
            connection.undo()
            throw error
        }
    }
}
