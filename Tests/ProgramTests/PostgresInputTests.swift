import Foundation
import KafkaClient
import TestSupport
import Testing

/// Mistakes about a server, its database, a schema or a store, and values that a store in PostgreSQL refuses.
@Suite(.serialized) struct PostgresInputTests {
    private let server: PostgresServer
    private let workspace: Workspace
    private let schema: String

    init() throws {
        server = try PostgresServer.shared.get()
        workspace = try Workspace()
        schema = server.newSchema()
    }

    private var storeURL: [String] { ["--set", "store.url=\(server.url)&schema=\(schema)"] }

    // MARK: Faults of the store's place

    /// What a user may get wrong about the server, its database or its schema.
    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        /// Statements for `psql`, one at a time; %S stands for the test's schema.
        var setup: [String] = []
        /// Settings; %W stands for the folder of the test's files.
        var settings: [String] = []
        /// Texts of the server's URL and what they become.
        var change = (old: "", new: "")
        let status: Int32
        let message: String
        let remedy: String
        /// Where the fault is, unless it is the store.
        var place: String?
        var testDescription: String { name }
    }

    private static let userFaults = [
        Fault(
            name: "database", change: ("/postgres?", "/nowhere?"), status: 69, message: "Could not connect to",
            remedy: "Check that the server runs, and the URL"),
        Fault(
            name: "user", setup: ["CREATE ROLE clerk NOLOGIN"], change: ("postgres@", "clerk@"), status: 69,
            message: "Could not connect to", remedy: "Check that the server runs, and the URL"),
        Fault(
            name: "encoding", setup: ["CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0"],
            change: ("/postgres?", "/latin?"), status: 69, message: "has the encoding LATIN1",
            remedy: "Use a database with the encoding UTF8"),
        Fault(
            name: "rights to make a schema", setup: ["CREATE ROLE guest LOGIN"], change: ("postgres@", "guest@"),
            status: 69, message: "may not make the schema", remedy: "As an administrator: CREATE SCHEMA"),
        Fault(
            name: "a name that PostgreSQL cuts", settings: ["model=%W/long.yaml"], status: 78,
            message: "PostgreSQL cuts the name 'n", remedy: "Give the entity or property a shorter name",
            place: "the name 'nnn"),
        Fault(
            name: "a column that PostgreSQL has", settings: ["model=%W/box.yaml"], status: 78,
            message: "PostgreSQL has a column 'xmin' of its own", remedy: "Give the property another name",
            place: "'xmin'"),
        Fault(
            name: "a schema of somebody else",
            setup: ["CREATE SCHEMA %S", "CREATE TABLE %S.theirs (id integer)"], status: 69,
            message: "it has a table 'theirs' of another program", remedy: "Name another schema"),
    ]

    private static let storeFaults = [
        Fault(
            name: "a newer layout",
            setup: ["UPDATE %S._metadata SET value = '99' WHERE key = 'formatVersion'"], status: 78,
            message: "was made by a newer version (layout 99)", remedy: "Use that version; the store is unharmed"),
        Fault(
            name: "a layout that cannot be read",
            setup: ["DELETE FROM %S._metadata WHERE key = 'formatVersion'"], status: 69,
            message: "is no store", remedy: "Name another schema"),
        Fault(
            name: "another model", settings: ["model=config/models/work-orders.yaml"], status: 78,
            message: "was made with the model chat", remedy: "another schema in store.url; the store is unharmed"),
        Fault(
            name: "rights to read", setup: ["CREATE ROLE reader LOGIN", "GRANT USAGE ON SCHEMA %S TO reader"],
            change: ("postgres@", "reader@"), status: 69, message: "may not read it",
            remedy: "ingest-worker grant writer reader"),
    ]

    /// What a server may do to a worker's statement; the statements let it do so to each claim.
    private static let serverFaults = [
        Fault(
            name: "statement_timeout", setup: trigger("PERFORM pg_sleep(60)"),
            change: ("?host=", "?options=-c%20statement_timeout%3D2000&host="), status: 75,
            message: "the server ended the statement, after its statement_timeout", remedy: "raise statement_timeout",
            place: "read the counters"),
        Fault(
            name: "no memory", setup: trigger("RAISE USING ERRCODE = '53200'"), status: 75,
            message: "the server has no memory left", remedy: "Give the server more memory", place: "read the counters"),
        Fault(
            name: "transaction_timeout", setup: trigger("RAISE USING ERRCODE = '25P04'"), status: 75,
            message: "after its transaction_timeout", remedy: "raise transaction_timeout", place: "read the counters"),
    ]

    private static func trigger(_ statement: String) -> [String] {
        [
            """
            CREATE FUNCTION %S.fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(statement); RETURN new; END $$
            """,
            "CREATE TRIGGER fault BEFORE UPDATE ON %S._lease FOR EACH ROW EXECUTE FUNCTION %S.fault()",
        ]
    }

    @Test func `a fault of a server, a schema or a store has its exit code, place and remedy`() throws {
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(100, seed: 28, to: file)
        let name = String(repeating: "n", count: 64)
        try workspace.write(
            "entities:\n  E:\n    identity: \(name)\n    attributes: { \(name): { type: string } }", to: "long.yaml")
        let box = "entities: { Box: { identity: id, attributes: { id: { type: string }, xmin: { type: double } } } }"
        let model = try workspace.write(box, to: "box.yaml")
        let checked = try Program.run(["check", "--offline", "--set", "model=\(model)"] + storeURL)
        #expect(checked.status == 78 && checked.errors.contains("a column 'xmin' of its own"), "\(checked.errors)")
        try expect(Self.userFaults, file) { _ in }
        try expect(Self.storeFaults + Self.serverFaults, file) { url in
            let made = try Program.run(["replay", file, "--set", "store.url=\(url)"])
            try #require(made.status == 0, "\(made.errors)")
        }
    }

    private func expect(_ faults: [Fault], _ file: String, prepare: (String) throws -> Void) throws {
        for fault in faults {
            let schema = server.newSchema()
            let url = "\(server.url)&schema=\(schema)"
            try prepare(url)
            for statement in fault.setup {
                _ = try server.query(statement.replacing("%S", with: schema))
            }
            let changed = fault.change.old.isEmpty ? url : url.replacing(fault.change.old, with: fault.change.new)
            let own = fault.settings.map { $0.replacing("%W", with: workspace.url.path) }
            let settings = ["store.url=\(changed)"] + own
            let result = try Program.run(["replay", file] + settings.flatMap { ["--set", $0] })
            #expect(result.status == fault.status, "\(fault.name): \(result.errors)")
            #expect(result.errors.contains(fault.message), "\(fault.name): \(result.errors)")
            #expect(result.errors.contains(fault.remedy), "\(fault.name): \(result.errors)")
            #expect(result.errors.contains(fault.place ?? "(\(schema))"), "\(fault.name): \(result.errors)")
        }
    }

    @Test func `a wrong URL ends the program with a remedy and without its password`() throws {
        let password = "hunter2-is-secret"
        let causes: [(String, Int32, String)] = [
            ("postgres://user:\(password)@127.0.0.1:1/database", 69, "Could not connect to"),
            ("mysql://user:\(password)@127.0.0.1/database", 78, "is no URL of a PostgreSQL database"),
            ("\(server.url)&schema=\(String(repeating: "s", count: 64))", 78, "is no URL of a PostgreSQL database"),
        ]
        for (url, status, text) in causes {
            let result = try Program.run(["history", "list", "--set", "store.url=\(url)"])
            #expect(result.status == status && result.errors.contains(text), "\(result.errors)")
            #expect(!result.errors.contains(password) && !result.output.contains(password))
        }
        let none = try Program.run(["history", "list"] + storeURL)
        #expect(none.status == 69 && none.errors.contains("There is no store at"), "\(none.errors)")
        for command in [["migrate"], ["migrate", "--dry-run"], ["copy", "--to", workspace.path("copy.sqlite")]] {
            let result = try Program.run(command + storeURL)
            #expect(result.status == 69 && result.errors.contains("There is no store at"), "\(result.errors)")
        }
    }

    @Test func `a second consumer group is refused with its exit code`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("events", partitions: 1)
        func start(_ group: String) throws -> Program {
            let settings = [
                "topics=events", "http.port=0", "kafka.bootstrap.servers=\(broker.bootstrapServers)",
                "kafka.group.id=\(group)", "store.writers=many",
            ]
            // The socket of requests stands in the folder of the path.
            let environment = ["INGEST_STORE_PATH": workspace.path("\(group)/none.sqlite")]
            return try Program(["run"] + settings.flatMap { ["--set", $0] } + storeURL, environment: environment)
        }
        let first = try start("first")
        try first.wait(for: "readiness") { try first.get("/readyz")?.status == 200 }
        let second = try start("second").wait()
        #expect(second.status == 69 && second.errors.contains("consumer group 'first'"), "\(second.errors)")
        #expect(second.errors.contains("(\(schema))") && second.errors.contains("Set kafka.group.id to 'first'"))
        first.send(SIGTERM)
        try first.expectGoodEnd()
    }

    // MARK: Collation

    @Test func `a database of another collation keeps the order of a file`() throws {
        let database = "collated_\(schema)"
        // There 'a' comes before 'B', 'é' before 'f', and a sign may not count.
        _ = try server.query(
            """
            CREATE DATABASE \(database) ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C' TEMPLATE template0
            """)
        let url = server.url.replacing("/postgres?", with: "/\(database)?")
        let here = ["--set", "store.path=\(workspace.path("store.sqlite"))"]
        let there = ["--set", "store.url=\(url)&schema=\(schema)"]
        var events: [String] = []
        for id in ["b", "B", "a", "A", "é", "e", "_a", "-b", "ab", "a b", "Z", "ß", "10", "9"] {
            events.append(#"{"type":"chat.upserted","data":{"id":"\#(id)","title":"\#(id)"}}"#)
            events.append(
                #"{"type":"message.upserted","data":{"id":"\#(id)","chat":"\#(id)","body":"\#(id)","seq":"no"}}"#)
            events.append(#"{"type":"message.upserted","data":{"id":"m\#(id)","chat":"\#(id)","body":"\#(id)"}}"#)
        }
        let files = try ["B.jsonl", "a.jsonl"].map { try workspace.write(events.joined(separator: "\n"), to: $0) }
        for store in [here, there] {
            for file in files {
                #expect(try Program.run(["replay", file, "--allow-dead-letters"] + store).status == 0)
            }
            for cursor in ["b", "A"] {
                #expect(try Program.run(["history", "cursors", "put", cursor, "1"] + store).status == 0)
            }
        }
        for command in [
            ["verify", "--dump"], ["fetch", "Chat", "--sort", "title", "--fields", "id,title"],
            ["fetch", "Message", "--where", "body > 'a' AND chat.title <= 'é'", "--sort", "-chat.title,id"],
            ["fetch", "Message", "--fields", "body,count() AS n", "--group-by", "body", "--sort", "body"],
            ["fetch", "Chat", "--where", "title BEGINSWITH 'a' OR title LIKE '*B'", "--fields", "id"],
        ] {
            let (file, collated) = (try Program.run(command + here), try Program.run(command + there))
            #expect(collated.status == 0 && file.output.count > 10, "\(collated.errors)")
            let times = /[0-9-]+T[0-9:.]+Z/
            #expect(file.output.replacing(times, with: "") == collated.output.replacing(times, with: ""), "\(command)")
        }
        let verified = try Program.run(["verify"] + there)
        #expect(verified.status == 0, "\(verified.output)")
    }

    // MARK: Values

    private static let model = """
        entities:
          Thing:
            identity: id
            attributes:
              id: { type: string }
              note: { type: string, optional: true, indexed: true }
              small: { type: integer16, optional: true }
              count: { type: integer32, optional: true }
              big: { type: integer64, optional: true }
              price: { type: decimal, optional: true }
              ratio: { type: double, optional: true }
              at: { type: date, optional: true }
        """

    /// Members of an event's data, and the code of the dead letter that its record becomes.
    private static let values = [
        (#""note":"a\u0000b""#, "decode.type"), ("LONG", "store.value"), (#""small":40000"#, "decode.type"),
        (#""count":3000000000"#, "decode.type"), (#""big":9223372036854775808"#, "decode.type"),
        (#""price":"1e400""#, "decode.type"), (#""ratio":1e400"#, "decode.type"),
        (#""at":"300000-01-01T00:00:00Z""#, "decode.type"), (#""at":"0000-01-01T00:00:00Z""#, "decode.type"),
        (#""big":9223372036854775807"#, ""), (#""at":"9999-12-31T23:59:59.999999Z""#, ""),
        (#""price":"123456789012345678901234567890.12345678""#, ""), (#""ratio":-1.7976931348623157e308"#, ""),
    ]

    @Test func `a value that the store refuses is a dead letter, and its neighbours are saved`() throws {
        let model = try workspace.write(Self.model, to: "things.yaml")
        // The server compresses texts in its indexes, but not random ones.
        var random = SeededRandom(seed: 1)
        let long = String((0..<9000).map { _ in Character(UnicodeScalar(UInt8.random(in: 97...122, using: &random))) })
        let events = Self.values.enumerated().map { number, value in
            let member = value.0 == "LONG" ? #""note":"\#(long)""# : value.0
            return #"{"type":"thing.upserted","data":{"id":"t\#(number)",\#(member)}}"#
        }
        let file = try workspace.write(events.joined(separator: "\n"), to: "things.jsonl")
        let settings = ["--set", "model=\(model)"] + storeURL
        let replayed = try Program.run(["replay", file] + settings)
        #expect(replayed.status == 65, "\(replayed.errors)")
        let list = try Program.run(["dead-letters", "list"] + settings).output
        for (number, value) in Self.values.enumerated() where !value.1.isEmpty {
            let line = list.split(separator: "\n").first { $0.contains("line \(number + 1)  ") }
            #expect(line?.contains("  \(value.1)  ") == true, "\(value.0.prefix(30)): \(line ?? "saved")")
        }
        #expect(list.contains("no indexed text has more than 2,700 bytes") && !list.contains(long.prefix(20)))
        let saved = Self.values.filter(\.1.isEmpty).count
        #expect(try Program.run(["fetch", "Thing", "--count"] + settings).output == "\(saved)\n")
        let verified = try Program.run(["verify"] + settings)
        #expect(verified.status == 0, "\(verified.output)")
    }
}
