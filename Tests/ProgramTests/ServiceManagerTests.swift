import Foundation
import Synchronization
import TestSupport
import Testing

/// The worker under a service manager that listens as systemd does.
@Suite struct ServiceManagerTests {
    @Test(arguments: [false, true])
    func `a worker says when it runs, how it is, that it lives and that it ends`(_ isAbstract: Bool) throws {
        let workspace = try Workspace()
        let name = isAbstract ? "@ingest-test-\(UUID().uuidString)" : workspace.path("notify")
        let manager = try Manager(name)
        let program = try Program(
            [
                "run", "--set", "store.path=\(workspace.path("store.sqlite"))", "--set", "topics=events", "--set",
                "kafka.bootstrap.servers=127.0.0.1:1", "--set", "http.port=0", "--set", "notifications.topic=null",
            ], environment: ["NOTIFY_SOCKET": name, "WATCHDOG_USEC": "400000"])
        try program.wait(for: "signs of life") { manager.heard("WATCHDOG=1") > 3 }
        // Without a broker the worker runs and waits for it: the manager must not start it again.
        #expect(manager.lines.first == "READY=1" && manager.heard("READY=1") == 1)
        #expect(manager.lines.contains { $0.hasPrefix("STATUS=") && $0.count > 20 }, "\(manager.lines)")
        #expect(manager.heard("STOPPING=1") == 0)
        program.send(SIGTERM)
        try program.expectGoodEnd()
        try wait(for: "the last notice") { manager.heard("STOPPING=1") == 1 }
    }

    @Test func `a worker that verifies its store asks for time before it says that it runs`() throws {
        let workspace = try Workspace()
        let manager = try Manager(workspace.path("notify"))
        let store = try workspace.sampleStore()
        try workspace.write("store.io\n", to: "store.sqlite-suspect")
        let program = try Program(
            [
                "run", "--set", "store.path=\(store)", "--set", "topics=events", "--set",
                "kafka.bootstrap.servers=127.0.0.1:1", "--set", "http.port=0", "--set", "notifications.topic=null",
            ], environment: ["NOTIFY_SOCKET": workspace.path("notify")])
        try program.wait(for: "the worker") { manager.heard("READY=1") == 1 }
        let before = manager.lines.prefix { $0 != "READY=1" }
        #expect(before.first == "EXTEND_TIMEOUT_USEC=60000000", "\(manager.lines)")
        #expect(before.contains { $0.hasPrefix("STATUS=Starting: verifying the store") }, "\(manager.lines)")
        #expect(!FileManager.default.fileExists(atPath: store + "-suspect"))
        program.send(SIGTERM)
        try program.expectGoodEnd()
    }

    @Test func `a rebuild and the worker after it are one service`() throws {
        let rebuild = try RebuildTests()
        let manager = try Manager(rebuild.workspace.path("notify"))
        let count = try rebuild.send(300, seed: 1)
        let replayed = try Program.run(["replay", "--topic", rebuild.topic] + rebuild.arguments())
        try #require(replayed.status == 0, "\(replayed.errors)")
        let old = rebuild.identity(rebuild.store)
        let program = try Program(
            ["run", "--rebuild"] + rebuild.arguments(),
            environment: ["NOTIFY_SOCKET": rebuild.workspace.path("notify"), "WATCHDOG_USEC": "400000"])
        try program.wait(for: "the new store") {
            rebuild.identity(rebuild.store) != old && rebuild.position(rebuild.store) == count
        }
        try program.wait(for: "readiness") { try program.get("/readyz")?.status == 200 }
        let signs = manager.heard("WATCHDOG=1")
        try program.wait(for: "signs of life of the worker") { manager.heard("WATCHDOG=1") > signs + 2 }
        // At STOPPING=1 systemd would kill the worker that goes on.
        #expect(manager.heard("READY=1") == 1 && manager.heard("STOPPING=1") == 0, "\(manager.lines)")
        program.send(SIGTERM)
        try program.expectGoodEnd()
        try wait(for: "the last notice") { manager.heard("STOPPING=1") == 1 }
    }

    /// The manager's end of the socket. A thread reads it, as the queue of the socket is short.
    private final class Manager {
        private final class Reader: Sendable {
            let heard = Mutex<[String]>([])
            let isOver = Atomic<Bool>(false)

            func run(_ descriptor: Int32) {
                var buffer = [UInt8](repeating: 0, count: 4096)
                while !isOver.load(ordering: .relaxed) {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    if count < 0 { continue }
                    let lines = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n")
                    heard.withLock { $0 += lines.map { String($0) } }
                }
                close(descriptor)
            }
        }

        private let reader = Reader()

        init(_ name: String) throws {
            let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let path = name.hasPrefix("@") ? [0] + Array(name.utf8.dropFirst()) : Array(name.utf8)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
            let code = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            try #require(code == 0, "\(String(cString: strerror(errno)))")
            var limit = timeval(tv_sec: 0, tv_usec: 50_000)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            Thread.detachNewThread { [reader] in reader.run(descriptor) }
        }

        deinit { reader.isOver.store(true, ordering: .relaxed) }

        /// The notices so far, each one a line.
        var lines: [String] { reader.heard.withLock(\.self) }

        func heard(_ line: String) -> Int { lines.count { $0 == line } }
    }
}
