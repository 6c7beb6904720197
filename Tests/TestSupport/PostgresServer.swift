import Foundation
import Synchronization

/// A PostgreSQL server in a folder of its own. It ends with the tests' process, however that ends.
public final class PostgresServer: Sendable {
    /// The server of this process, or why there is none; the first test that needs it starts it. `INGEST_TEST_STORE_URL`
    /// names a server of somebody else instead, of which nobody but the tests may change the schemas `conformance_…`.
    public static let shared = Result { try foreignURL.map { try PostgresServer(url: $0) } ?? PostgresServer() }

    /// Whether the server is one of these tests, and not one of somebody else.
    public static let isOwn = foreignURL == nil

    private static let foreignURL = ProcessInfo.processInfo.environment["INGEST_TEST_STORE_URL"]

    /// The URL of a database in which each test has a schema of its own.
    public let url: String
    /// The folder with the server's socket; empty of a server of somebody else.
    public let folder: String
    private let programs: String
    /// The port of a server with TLS; others are reached by their socket alone.
    public var port: Int { reservation?.number ?? 5432 }
    private let reservation: ReservedPort?
    /// What a program needs to find the server.
    private let address: [String]
    private let schemaPrefix: String
    private let schemaCount = Atomic<Int>(0)
    /// A line `crash` lets the server end at once and start again, `stop` ends it, and `start` starts it. At the end of the
    /// lines it ends.
    private let input: Pipe

    /// Why there is no server.
    public struct Missing: Error, CustomStringConvertible {
        /// The reason.
        public let description: String
    }

    /// The programs of the server, wherever Debian or another system has them.
    private static let programFolders = installed + ["/usr/local/bin", "/usr/bin"]

    private static let installed = (14...18).reversed().map { "/usr/lib/postgresql/\($0)/bin" }

    private static let script = """
        cd "$1" || exit 1
        "$2/initdb" -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >initdb.log 2>&1 || exit 1
        start() {
            "$2/postgres" -D data -k "$1" -c listen_addresses= -c fsync=off -c synchronous_commit=off \
                -c full_page_writes=off -c max_connections=400 -c autovacuum=off -c max_parallel_workers_per_gather=0 \
                -c max_locks_per_transaction=256 $3 >>server.log 2>&1 &
            server=$!
        }
        start "$1" "$2" "$3"
        while read -r line; do
            case $line in
            crash) kill -QUIT $server; wait $server ;;
            stop) kill -INT $server; wait $server ;;
            esac
            [ "$line" = stop ] || start "$1" "$2" "$3"
        done
        kill -INT $server
        wait $server
        rm -rf "$1"
        """

    /// Starts a server, and waits until it takes connections.
    ///
    /// - Parameter certificate: a file of `TestCertificates`. With it the server takes connections to `port` by TLS alone:
    ///   of the role `plain` with a password, and of the role `certified` with a certificate of that name.
    public init(certificate: String? = nil, authority: String? = nil) throws {
        guard
            let programs = Self.programFolders.first(where: { FileManager.default.fileExists(atPath: "\($0)/initdb") })
        else { throw Missing(description: "There is no PostgreSQL server: install the package 'postgresql'") }
        self.programs = programs
        folder = "/tmp/ingest-postgres-\(UUID().uuidString.prefix(8))"
        schemaPrefix = "test_"
        reservation = try certificate.map { _ in try ReservedPort() }
        url = "postgres://postgres@/postgres?host=\(folder)" + (reservation.map { "&port=\($0.number)" } ?? "")
        address = ["-h", folder, "-p", "\(reservation?.number ?? 5432)", "-U", "postgres"]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var settings = ""
        if let certificate, let authority, let reservation {
            try FileManager.default.copyItem(atPath: certificate, toPath: "\(folder)/server.pem")
            try FileManager.default.copyItem(atPath: authority, toPath: "\(folder)/ca.pem")
            try Self.rules.write(toFile: "\(folder)/hba.conf", atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder)/server.pem")
            settings = """
                -c listen_addresses=127.0.0.1 -c port=\(reservation.number) -c ssl=on -c ssl_ca_file=\(folder)/ca.pem \
                -c ssl_cert_file=\(folder)/server.pem -c ssl_key_file=\(folder)/server.pem -c hba_file=\(folder)/hba.conf
                """
        }
        input = Pipe()
        let process = Process()
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sh", "-c", Self.script, "sh", folder, programs, settings]
        if geteuid() == 0 {
            // The server refuses to run as root.
            guard let user = getpwnam("postgres")?.pointee, chown(folder, user.pw_uid, user.pw_gid) == 0 else {
                throw Missing(description: "There is no user 'postgres' to run the server as")
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                chown("\(folder)/\(name)", user.pw_uid, user.pw_gid)
            }
            process.arguments =
                ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] + (process.arguments ?? [])
        }
        try process.run()
        do {
            try wait(for: "the PostgreSQL server", everyMilliseconds: 20) {
                isReady || !process.isRunning
            }
            if !process.isRunning { throw Missing(description: "The PostgreSQL server has ended") }
        } catch {
            let log = (try? String(contentsOfFile: "\(folder)/server.log", encoding: .utf8)) ?? "no log"
            throw Missing(description: "The PostgreSQL server in \(folder) does not start: \(error)\n\(log)")
        }
    }

    /// Who may connect to a server with TLS.
    private static let rules = """
        local all postgres trust
        hostssl all plain 127.0.0.1/32 scram-sha-256
        hostssl all certified 127.0.0.1/32 cert

        """

    /// Takes a server that runs already, which no test may crash.
    private init(url: String) throws {
        let folders = Self.programFolders
        guard let programs = folders.first(where: { FileManager.default.fileExists(atPath: "\($0)/psql") }) else {
            throw Missing(description: "There is no psql: install the package 'postgresql-client'")
        }
        (self.url, self.programs, folder, input) = (url + (url.contains("?") ? "" : "?"), programs, "", Pipe())
        (address, reservation) = (["-d", url], nil)
        schemaPrefix = "conformance_\(ProcessInfo.processInfo.processIdentifier)_"
    }

    private var isReady: Bool { (try? run("pg_isready", ["-q"]))?.status == 0 }

    /// Returns the name of a schema that nobody has yet.
    public func newSchema() -> String { "\(schemaPrefix)\(schemaCount.add(1, ordering: .relaxed).newValue)" }

    /// Runs a statement with `psql`, and returns its rows as text.
    public func query(_ sql: String) throws -> String {
        let result = try run("psql", ["-AtX", "-c", sql])
        if result.status != 0 { throw Missing(description: "psql ended with \(result.status)") }
        return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Looks every millisecond, in the server, for a number that is not 0; false where it is 0 for a second, or of a table
    /// that does not exist. A `psql` for each look would be too slow for stages of some milliseconds.
    public func seesSoon(_ number: String) throws -> Bool {
        let function = """
            CREATE FUNCTION pg_temp.sees() RETURNS boolean LANGUAGE plpgsql AS $function$
            DECLARE
                found bigint;
            BEGIN
                FOR look IN 1..1000 LOOP
                    PERFORM pg_stat_clear_snapshot();
                    BEGIN
                        EXECUTE $number$SELECT \(number)$number$ INTO found;
                    EXCEPTION WHEN undefined_table THEN
                        found := 0;
                    END;
                    IF found <> 0 THEN
                        RETURN true;
                    END IF;
                    PERFORM pg_sleep(0.001);
                END LOOP;
                RETURN false;
            END $function$
            """
        return try query("\(function); SELECT pg_temp.sees()").hasSuffix("t")
    }

    /// Writes a schema into a file with `pg_dump`.
    public func backUp(_ schema: String, to path: String) throws {
        let result = try run("pg_dump", ["--schema=\(schema)", "--file=\(path)"])
        if result.status != 0 { throw Missing(description: "pg_dump ended with \(result.status)") }
    }

    /// Runs the statements of a file of ``backUp(_:to:)``.
    public func restore(from path: String) throws {
        let result = try run("psql", ["-qX", "-v", "ON_ERROR_STOP=1", "-1", "-f", path])
        if result.status != 0 { throw Missing(description: "psql ended with \(result.status)") }
    }

    /// Ends the server as a crash does, and starts it again.
    public func crash() throws {
        try input.fileHandleForWriting.write(contentsOf: Data("crash\n".utf8))
    }

    /// Ends the server with all connections, and waits until it is away.
    public func stop() throws {
        try input.fileHandleForWriting.write(contentsOf: Data("stop\n".utf8))
        try wait(for: "the server's end", everyMilliseconds: 20) { !isReady }
    }

    /// Starts the server after ``stop()``, and waits until it takes connections.
    public func start() throws {
        try input.fileHandleForWriting.write(contentsOf: Data("start\n".utf8))
        try wait(for: "the server", everyMilliseconds: 20) { isReady }
    }

    private func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "\(programs)/\(program)")
        process.arguments = address + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}
