import Foundation
import ObjectGraph
import Synchronization
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// A PostgreSQL server in a folder of its own, which the first test that needs it starts. It ends with the tests' process.
final class PostgresServer: Sendable {
    /// The server of this process, or why there is none.
    static let shared = Result { try PostgresServer() }

    /// The URL of a database in which each test has a schema of its own.
    let url: String
    private let folder: String
    private let schemaCount = Atomic<Int>(0)
    /// At its end, however it comes, the server ends.
    private let input: Pipe

    /// The programs of the server, wherever Debian or another system has them.
    private static let programFolders =
        (14...18).reversed().map { "/usr/lib/postgresql/\($0)/bin" } + ["/usr/local/bin"]

    private static let script = """
        cd "$1" || exit 1
        "$2/initdb" -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >initdb.log 2>&1 || exit 1
        "$2/postgres" -D data -k "$1" -c listen_addresses= -c fsync=off -c synchronous_commit=off \
            -c full_page_writes=off -c max_connections=400 -c autovacuum=off -c max_parallel_workers_per_gather=0 \
            -c max_locks_per_transaction=256 >server.log 2>&1 &
        server=$!
        read -r line
        kill -INT $server
        wait $server
        rm -rf "$1"
        """

    private init() throws {
        guard
            let programs = Self.programFolders.first(where: { FileManager.default.fileExists(atPath: "\($0)/initdb") })
        else {
            throw Missing(reason: "There is no PostgreSQL server: install the package 'postgresql'")
        }
        folder = "/tmp/ingest-postgres-\(UUID().uuidString.prefix(8))"
        url = "postgres://postgres@/postgres?host=\(folder)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        input = Pipe()
        let process = Process()
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sh", "-c", Self.script, "sh", folder, programs]
        if geteuid() == 0 {
            // The server refuses to run as root.
            guard let user = getpwnam("postgres")?.pointee, chown(folder, user.pw_uid, user.pw_gid) == 0 else {
                throw Missing(reason: "There is no user 'postgres' to run the server as")
            }
            process.arguments =
                ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
                + (process.arguments ?? [])
        }
        try process.run()
        try waitUntilReady(process)
    }

    struct Missing: Error {
        let reason: String
    }

    private func waitUntilReady(_ process: Process) throws {
        let address = try ConnectionAddress(url, schema: "public")
        let end = Date().addingTimeInterval(60)
        while process.isRunning, Date() < end {
            if (try? PostgresConnection(address, .reader, lockTimeoutMilliseconds: 1000)) != nil { return }
            usleep(20_000)
        }
        let log = (try? String(contentsOfFile: "\(folder)/server.log", encoding: .utf8)) ?? "no log"
        throw Missing(reason: "The PostgreSQL server in \(folder) does not start: \(log)")
    }

    /// Opens a new store in a schema of its own.
    func store(_ model: ObjectModel) throws -> Store {
        try Store.postgres(url: url, schema: newSchema(), model: model)
    }

    /// Returns the name of a schema that nobody has yet.
    func newSchema() -> String { "test_\(schemaCount.add(1, ordering: .relaxed).newValue)" }
}

extension Store {
    /// Makes a store in a schema of its own on the tests' server.
    static func inPostgres(model: ObjectModel) throws -> Store { try PostgresServer.shared.get().store(model) }

    /// Returns the storage.
    func postgres() throws -> PostgresStorage { try #require(storage as? PostgresStorage) }
}
