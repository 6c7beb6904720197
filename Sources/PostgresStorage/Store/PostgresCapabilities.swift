import StoreSQL

/// The server, database and schema as a store finds them before it is opened, and what keeps it from that.
struct PostgresCapabilities: Equatable {
    /// The purpose of an opening.
    enum Use: Equatable {
        /// Reads a store that is there.
        case reading
        /// Writes the store, and makes it where there is none.
        case writing
    }

    /// The rights of the role on a schema that is there.
    struct Schema: Equatable {
        var owner = ""
        var mayUse = true
        /// Whether the role may make tables.
        var mayCreate = true
        /// Whether the schema has a store, or at least the table with its description.
        var holdsStore = false
        var mayRead = true
        /// Whether the role may insert, update and delete rows.
        var mayWrite = true
    }

    /// The server's version in its own form, such as 150004.
    var version: Int64 = oldestVersion
    var encoding = "UTF8"
    /// Whether the server is a standby, or its transactions only read by default.
    var isReadOnly = false
    var role = ""
    var database = ""
    /// Whether the role may make schemas.
    var mayMakeSchema = true
    /// Nil where the schema is not there.
    var schema: Schema?

    /// The oldest server whose protocol and language the storage needs.
    static let oldestVersion: Int64 = 140_000

    /// Returns the reason why the store cannot be opened, with the statement or command that removes it.
    func fault(_ use: Use, at address: ConnectionAddress) -> StoreError? {
        if version < Self.oldestVersion {
            return refusal("The server at \(address) is older than version 14", remedy: "Use a newer server")
        }
        if encoding != "UTF8" {
            return refusal(
                "The database at \(address) has the encoding \(encoding)",
                remedy: "Use a database with the encoding UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0")
        }
        if use == .writing, isReadOnly {
            return refusal(
                "The server at \(address) only reads: it is a standby, or its transactions are read-only",
                remedy: "Name all servers in store.url, with target_session_attrs=read-write")
        }
        return faultOfRights(use, at: address)
    }

    private func faultOfRights(_ use: Use, at address: ConnectionAddress) -> StoreError? {
        let (name, user) = (SQLText.quoted(address.schema), SQLText.quoted(role))
        guard let schema else {
            if use == .reading || mayMakeSchema { return nil }
            return refusal(
                "The role \(user) may not make the schema of \(address)",
                remedy: "As an administrator: CREATE SCHEMA \(name) AUTHORIZATION \(user)")
        }
        let owner = SQLText.quoted(schema.owner)
        let rights = use == .reading ? "reader" : "writer"
        let grant = "As \(owner): 'ingest-worker grant \(rights) \(role)'. Or name another schema in store.url"
        if !schema.mayUse || schema.holdsStore && !schema.mayRead {
            return refusal(
                "The schema of \(address) belongs to \(owner), and \(user) may not read it", remedy: grant)
        }
        if use == .reading { return nil }
        if schema.holdsStore {
            if schema.mayWrite { return nil }
            return refusal(
                "The store at \(address) belongs to \(owner), and \(user) may not write it", remedy: grant)
        }
        if schema.mayCreate { return nil }
        return refusal(
            "The schema of \(address) belongs to \(owner), and \(user) may not make a store there",
            remedy: "As \(owner): GRANT CREATE, USAGE ON SCHEMA \(name) TO \(user). Or name another schema in store.url"
        )
    }

    private func refusal(_ message: String, remedy: String) -> StoreError {
        StoreError(.unavailable, message, remedy: remedy)
    }
}

extension PostgresCapabilities {
    /// Asks the server.
    init(_ connection: PostgresConnection, _ address: ConnectionAddress) throws(StoreError) {
        let writes = ["INSERT", "UPDATE", "DELETE"].map { "has_table_privilege(m.oid, '\($0)')" }
        var query = PostgresStatement(
            """
            SELECT current_setting('server_version_num')::int8, current_setting('server_encoding'), \
            pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', current_user::text, \
            current_database()::text, has_database_privilege(current_database(), 'CREATE'), \
            pg_get_userbyid(n.nspowner)::text, has_schema_privilege(n.oid, 'USAGE'), \
            has_schema_privilege(n.oid, 'CREATE'), m.oid IS NOT NULL, has_table_privilege(m.oid, 'SELECT'), \
            \(writes.joined(separator: " AND ")) FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = $1::text \
            LEFT JOIN pg_class m ON m.relnamespace = n.oid AND m.relname = '_metadata'
            """)
        query.bind(address.schema)
        guard let row = try connection.run(query, "open the store").first else { return }
        version = row.integer(0)
        encoding = row.text(1)
        isReadOnly = row.flag(2)
        role = row.text(3)
        database = row.text(4)
        mayMakeSchema = row.flag(5)
        guard let owner = row.optionalText(6) else { return }
        let holdsStore = row.flag(9)
        schema = Schema(
            owner: owner, mayUse: row.flag(7), mayCreate: row.flag(8), holdsStore: holdsStore,
            mayRead: !holdsStore || row.flag(10), mayWrite: !holdsStore || row.flag(11))
    }
}
