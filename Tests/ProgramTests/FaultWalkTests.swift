import Foundation
import KafkaClient
import TestSupport
import Testing

/// Walks faults as an operator does: each command says the cause, and its exit code does so too.
///
/// `docs/how-to/faults.md` has the table of these faults.
@Suite(.serialized, .timeLimit(.minutes(60))) struct FaultWalkTests {
    private let workspace: Workspace
    private let store: String

    init() throws {
        workspace = try Workspace()
        store = workspace.path("store.sqlite")
    }

    private func options(_ settings: [String] = []) -> [String] {
        let place = settings.contains { $0.hasPrefix("store.url=") } ? [] : ["store.path=\(store)"]
        return (place + ["http.port=0", "topics=events", "notifications.topic=null"] + settings)
            .flatMap { ["--set", $0] }
    }

    /// The commands that open the store alone.
    private static let readers = [
        ["verify"], ["fetch", "Message"], ["history", "list"], ["dead-letters", "list"],
    ]

    /// Runs commands, each of which ends with a code and says a text.
    private func walk(
        _ commands: [[String]], _ status: Int32, _ text: String?, _ settings: [String] = [], launcher: [String] = [],
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        for command in commands {
            let found = try Program.run(command + options(settings), launcher: launcher)
            let said = found.output + found.errors
            #expect(found.status == status, "\(command): \(said)", sourceLocation: location)
            if let text { #expect(said.contains(text), "\(command): \(said)", sourceLocation: location) }
        }
    }

    /// Fills the store without a broker.
    private func fill() throws {
        let arguments = ["replay", "samples/chat-events.jsonl", "--allow-dead-letters"]
        let result = try Program.run(arguments + options())
        try #require(result.status == 0, "\(result.errors)")
    }

    /// Makes a backup of the store, and returns the command that brings it back.
    private func backUp() throws -> [String] {
        let backup = workspace.path("backup.sqlite")
        let result = try Program.run(["backup", backup] + options())
        try #require(result.status == 0, "\(result.errors)")
        return ["restore", backup]
    }

    private func change(_ sql: String) throws { _ = try Foreign.sqlite(store, sql, writing: true) }

    // MARK: The machine

    @Test func `a setting with a typo, and a wrong model`() throws {
        try fill()
        let commands = [["check"], ["doctor"], ["status"], ["run"]] + Self.readers
        try walk(commands, 78, "did you mean", ["store.busyTimoutMilliseconds=1"])
        let other = ["model=config/models/work-orders.yaml"]
        let readers = Self.readers.filter { $0[0] != "fetch" } + [["fetch", "WorkOrder"]]
        try walk([["check", "--offline"], ["doctor", "--offline"], ["status"]] + readers, 78, "made with", other)
        let restore = [try backUp()]
        try walk(restore, 78, "did you mean", ["store.busyTimoutMilliseconds=1"])
        try walk(restore, 78, "made with", other)
    }

    @Test func `a broker that is away`() throws {
        try fill()
        let away = ["kafka.bootstrap.servers=127.0.0.1:1"]
        try walk([["check"], ["doctor"]], 69, "127.0.0.1:1", away)
        try walk([["status"]], 75, "No worker answers", away)
        let restore = try backUp()
        try walk(Self.readers + [restore], 0, nil, away)
        let worker = try Worker(self, away)
        try worker.wait(forVerdict: "Stopped: no broker answers.")
        try walk([["status"]], 75, "Stopped: no broker answers.", worker.settings)
        try walk([["doctor"]], 69, "no broker answers", worker.settings)
        try walk([restore], 69, "store.leased", worker.settings)
    }

    @Test func `a store that this user may not see, or not read`() throws {
        try fill()
        // Root may read everything.
        let launcher = getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
        let commands = [["check", "--offline"], ["doctor", "--offline"], ["status"]] + Self.readers
        let restore = try backUp()
        #expect(chmod(workspace.url.path, 0o600) == 0)
        defer { chmod(workspace.url.path, 0o755) }
        try walk(commands + [restore], 69, "Permission denied", launcher: launcher)
        #expect(chmod(workspace.url.path, 0o755) == 0)
        #expect(chmod(store, 0) == 0)
        try walk(commands, 69, "this user may read", launcher: launcher)
        try walk([["run"]], 69, "store.sqlite", launcher: launcher)
        try walk([restore], 69, "this user may read", launcher: launcher)
    }

    @Test func `a damaged store`() throws {
        try fill()
        let restore = try backUp()
        let file = try FileHandle(forWritingTo: URL(filePath: store))
        try file.write(contentsOf: Data(repeating: 0x41, count: 4096))
        try file.close()
        let commands = [["check", "--offline"], ["doctor", "--offline"], ["status"], ["run"]] + Self.readers
        try walk(commands, 69, "the file is damaged or no store")
        try walk([restore], 0, "The replaced store is")
        try walk(Self.readers, 0, nil)
    }

    @Test func `a port that another program has`() throws {
        let listener = try ListeningSocket()
        let taken = ["http.port=\(listener.port)"]
        try walk([["status"]], 69, "There is no store", taken)
        try walk([["doctor", "--offline"], ["run"]], 69, "Address already in use", taken)
        try walk([["probe", "livez"]], 75, nil, taken)
    }

    @Test(.enabled(if: getuid() == 0)) func `a disk that is full`() throws {
        let disk = workspace.path("disk")
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
        // Not every container may mount.
        guard (try? Foreign.run("mount", ["-t", "tmpfs", "-o", "size=8m", "none", disk])) != nil else { return }
        defer { _ = try? Foreign.run("umount", ["-l", disk]) }
        let full = ["store.path=\(disk)/store.sqlite"]
        try walk([["replay", "samples/chat-events.jsonl", "--allow-dead-letters"]], 0, nil, full)
        try fill()
        let restore = try backUp()
        let filler = FileManager.default.createFile(atPath: "\(disk)/filler", contents: Data(count: 64 << 20))
        #expect(!filler)
        try walk([["check", "--offline"], ["doctor", "--offline"]], 69, "a chunk needs up to", full)
        try walk([["status"]], 75, "a chunk needs up to", full)
        try walk(Self.readers.filter { $0[0] != "verify" }, 0, nil, full)
        // It writes until nothing more fits, and fails then.
        _ = try? Foreign.run("dd", ["if=/dev/zero", "of=\(disk)/rest", "bs=16k"])
        try walk([restore], 75, "the disk is full", full)
    }

    // MARK: The broker

    @Test func `positions that the broker does not have, a backlog, clocks and poison records`() throws {
        let broker = try BrokerProcess(.noida)
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for topic in ["events", "empty"] {
            try admin.createTopic(NewTopic(topic, partitions: 1, replicationFactor: 1))
        }
        let settings = ["kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=walk"]
        try broker.send((0..<20).map { BrokerProcess.message("m\($0)") })
        var worker = try Worker(self, settings)
        try worker.program.waitForPosition(20, of: store)
        try worker.wait(forVerdict: "Running")
        try walk([["status"], ["doctor"]], 0, "Running", worker.settings)
        try worker.end()
        try broker.send((20..<25).map { BrokerProcess.message("m\($0)") })
        try walk([["doctor"]], 0, "1 partition, 5 records behind", settings)

        // Another log than the store has read.
        let detail = try Foreign.sqlite(store, "SELECT detail FROM _position")
        try change("UPDATE _position SET detail = '1-1'")
        try walk([["doctor"]], 65, "is not the one that the store took last", settings)
        try change("UPDATE _position SET nextOffset = 9000")
        try walk([["doctor"]], 65, "offset 9000 is not on the broker any more", settings)
        worker = try Worker(self, settings)
        try worker.wait(forVerdict: "Stopped: no partition is read")
        try walk([["status"], ["doctor"]], 75, "offset 9000 is not on the broker any more", worker.settings)
        try worker.end()

        try change("UPDATE _position SET nextOffset = 20, detail = '\(detail)'")
        try change("INSERT INTO _position (topic, partition, nextOffset) VALUES ('events', 7, 3)")
        try walk([["doctor"]], 65, "events/7: the broker does not have the partition any more", settings)
        worker = try Worker(self, settings)
        try worker.wait(forVerdict: "events/7 halted")
        try walk([["status"], ["doctor"]], 75, "the topic does not have it any more", worker.settings)
        try walk([["run"]], 69, "store.leased", settings)
        try worker.end()
        try change("DELETE FROM _position WHERE partition = 7")

        try walkClocks(settings)

        try broker.send((0..<3).map { BrokerProcess.message("bad\($0)", text: "bodi") })
        worker = try Worker(self, settings)
        try worker.wait(forVerdict: "Running, but 3 dead letters")
        try walk([["status"], ["doctor"]], 65, "records that could not be applied wait in the store", worker.settings)
        try walk([["dead-letters", "retry"]], 65, "0 applied, 0 stale, 0 filtered out, 3 stay", worker.settings)
        try walk([["audit"]], 0, "incomplete: ", worker.settings)
        try walk([["dead-letters", "drop", "--all"]], 0, "3 dead letters dropped", worker.settings)
        try walk([["status"]], 0, "Running", worker.settings)
        try worker.end()
    }

    /// Lets the store's commits say that the machine's clock is wrong: the machine's own stays as it is.
    private func walkClocks(_ settings: [String]) throws {
        let time = "(SELECT max(time) FROM _history_transaction)"
        let saved = try Foreign.sqlite(store, "SELECT max(time) FROM _history_transaction")
        try change("UPDATE _history_transaction SET time = time + 3600000000 WHERE time = \(time)")
        try walk([["doctor"]], 69, "The store's last commit is of", settings)
        try change("UPDATE _history_transaction SET time = time - 30 * 86400000000")
        // Records of the last days say that the clock is right.
        try walk([["doctor"]], 0, "no record is from the future", settings)
        let empty = settings + ["topics=empty"]
        try walk([["doctor"]], 69, "Neither a commit nor a record is of the last 7 days", empty)
        try change("UPDATE _history_transaction SET time = \(saved) WHERE time = \(time)")
    }

    // MARK: PostgreSQL

    @Test func `a database server that is away, and one without connections`() throws {
        let server = try PostgresServer.shared.get()
        try fill()
        let restore = [try backUp()]
        let others = [["check", "--offline"], ["doctor", "--offline"], ["status"], ["run"]]
        let commands = others + Self.readers + restore
        let away = ["store.url=postgres://postgres@/postgres?host=/nowhere&schema=walk"]
        try walk(commands, 69, "/nowhere", away)
        let schema = server.newSchema()
        _ = try server.query("CREATE ROLE \(schema) LOGIN CONNECTION LIMIT 0")
        let url = server.url.replacing("postgres://postgres@", with: "postgres://\(schema)@")
        try walk(commands, 69, "too many connections", ["store.url=\(url)&schema=\(schema)"])
    }
}

extension FaultWalkTests {
    /// A worker of the walk, which commands find at its port.
    private struct Worker {
        let program: Program
        let settings: [String]
        private let port: ReservedPort
        private let walk: FaultWalkTests

        init(_ walk: FaultWalkTests, _ settings: [String]) throws {
            self.walk = walk
            port = try ReservedPort()
            self.settings = settings + ["http.port=\(port.number)"]
            program = try Program(["run"] + walk.options(self.settings))
        }

        func wait(forVerdict text: String) throws {
            try program.wait(for: text) {
                try Program.run(["status"] + walk.options(settings)).output.contains(text)
            }
        }

        func end() throws {
            program.send(SIGTERM)
            try program.expectGoodEnd()
        }
    }
}

/// A socket that listens on a free port, as that of another program.
private final class ListeningSocket {
    let port: Int
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
        try #require(isBound)
    }

    deinit { close(descriptor) }
}
