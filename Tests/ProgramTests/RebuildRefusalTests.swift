import Foundation
import KafkaClient
import TestSupport
import Testing

/// What keeps a store from being rebuilt, or another from being put in its place.
@Suite(.serialized) struct RebuildRefusalTests {
    private let bench: RebuildTests

    init() throws { bench = try RebuildTests() }

    private var store: String { bench.store }

    private func exists(_ suffix: String) -> Bool { FileManager.default.fileExists(atPath: store + suffix) }

    @Test func `a topic that was made again is asked about`() throws {
        _ = try bench.send(300, seed: 1)
        try #require(try Program.run(["replay", "--topic", bench.topic] + bench.arguments()).status == 0)
        let old = bench.identity(store)
        let admin = try Admin(configuration: ["bootstrap.servers": bench.broker.bootstrapServers])
        try admin.deleteTopic(bench.topic)
        try admin.createTopic(NewTopic(bench.topic, partitions: 1))
        // Shorter than it was.
        _ = try bench.send(100, seed: 2)
        let shorter = try bench.rebuild().wait()
        #expect(shorter.status == 65 && shorter.errors.contains("has lost its end"), "\(shorter.errors)")
        #expect(!exists(".rebuild"))
        // Longer, with other records.
        _ = try bench.send(400, seed: 3)
        let longer = try bench.rebuild().wait()
        #expect(longer.status == 65 && longer.errors.contains("the topic was made again"), "\(longer.errors)")
        #expect(bench.identity(store) == old && bench.position(store) == 300)
        // With the option, the rebuild goes on with the records that it has read.
        let allowed = try bench.rebuild(["--allow-partial"])
        try allowed.wait(for: "the new store") { bench.identity(store) != old && bench.position(store) == 500 }
        try bench.stop(allowed)
    }

    @Test func `a store that was exchanged meanwhile is not replaced`() throws {
        let count = try bench.send(200, seed: 4)
        let live = try Program(["run"] + bench.arguments())
        try live.wait(for: "the old store") { bench.position(store) == count }
        let rebuild = try bench.rebuild()
        try rebuild.wait(for: "the wait for the old worker") {
            rebuild.errors.contains("caught up, and waiting for the old store")
        }
        let second = try bench.rebuild().wait()
        #expect(
            second.status == 69 && second.errors.contains("Another process rebuilds or restores the store"),
            "\(second.errors)")
        // Somebody puts another store there while the worker still has the old one open.
        let other = bench.workspace.path("other.sqlite")
        try #require(try Program.run(["replay", "--topic", bench.topic] + bench.arguments(other)).status == 0)
        for suffix in ["-wal", "-shm"] { unlink(store + suffix) }
        try #require(rename(other, store) == 0)
        let now = bench.identity(store)
        // The worker sees it too, and writes neither of them any more.
        let replaced = try live.wait()
        #expect(replaced.status == 69 && replaced.errors.contains("exchanged under this process"), "\(replaced.errors)")
        let ended = try rebuild.wait()
        #expect(ended.status == 78 && ended.errors.contains("was exchanged meanwhile"), "\(ended.errors)")
        #expect(bench.identity(store) == now && exists(".rebuild") && !exists(".swap") && !exists(".before-rebuild"))
    }

    @Test func `a rebuild that was begun with other settings is refused`() throws {
        let count = try bench.send(200, seed: 5)
        let live = try Program(["run"] + bench.arguments())
        try live.wait(for: "the old store") { bench.position(store) == count }
        let begun = try bench.rebuild()
        try begun.wait(for: "the new store") { bench.position(store + ".rebuild") == count }
        try begun.crash()
        let other = try bench.rebuild(["--set", "limits.maxDepth=32"]).wait()
        #expect(other.status == 78, "\(other.errors)")
        #expect(other.errors.contains("was begun with other topics, routes, partitions or limits"), "\(other.errors)")
        let same = try bench.rebuild()
        try same.wait(for: "the wait for the old worker") {
            same.errors.contains("caught up, and waiting for the old store")
        }
        #expect(same.errors.contains("a rebuild that was begun before goes on"))
        try bench.stop(live)
        try same.wait(for: "the new store") { exists(".before-rebuild") && !exists(".rebuild") }
        try bench.stop(same)
        // With the same settings it is done; with others it is rebuilt again.
        let again = try bench.rebuild()
        try again.wait(for: "the worker") { try again.get("/readyz")?.status == 200 }
        #expect(again.errors.contains("the store was rebuilt already"))
        try bench.stop(again)
    }

    @Test func `a store behind a link is rebuilt where it is and its readers are kept`() throws {
        let folder = bench.workspace.url.appending(path: "real")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let real = folder.appending(path: "s.sqlite").path
        try #require(symlink("real/s.sqlite", store) == 0)
        let count = try bench.send(200, seed: 6)
        try #require(try Program.run(["replay", "--topic", bench.topic] + bench.arguments()).status == 0)
        let old = bench.identity(real)
        try #require(try Program.run(["history", "cursors", "put", "feed", "1"] + bench.arguments()).status == 0)
        let rebuild = try bench.rebuild()
        try rebuild.wait(for: "the new store") { bench.identity(real) != old && bench.position(real) == count }
        try rebuild.wait(for: "readiness") { try rebuild.get("/readyz")?.status == 200 }
        try bench.stop(rebuild)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: store) == "real/s.sqlite")
        #expect(bench.identity(real + ".before-rebuild") == old && !exists(".before-rebuild"))
        #expect(try Foreign.sqlite(real, "SELECT token FROM _cursor WHERE name = 'feed'") == "0")
    }

    @Test func `a store that cannot be read is to be moved away`() throws {
        _ = try bench.send(50, seed: 7)
        try #require(try Program.run(["replay", "--topic", bench.topic] + bench.arguments()).status == 0)
        let file = try FileHandle(forWritingTo: URL(filePath: store))
        try file.write(contentsOf: Data("no database at all".utf8))
        try file.close()
        let refused = try bench.rebuild().wait()
        #expect(refused.status == 65 && refused.errors.contains("run without --rebuild"), "\(refused.errors)")
    }
}
