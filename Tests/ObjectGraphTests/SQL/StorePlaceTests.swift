import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// The files that a store makes are its owner's, and a store is written only while it stands at its place.
@Suite struct StorePlaceTests {
    private let folder: TemporaryFolder
    private let model: ObjectModel

    init() throws {
        folder = try TemporaryFolder()
        model = try ObjectModel.parse(Models.people)
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    /// How a store may leave its place.
    enum Departure: String, CaseIterable {
        case removed, exchanged, withoutLog, linkedElsewhere
    }

    @Test func `a store behind a link to a missing file is its owner's`() throws {
        let (link, target) = (folder.path("link.sqlite"), folder.path("target.sqlite"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "target.sqlite")
        let store = try Store.open(path: link, model: model)
        try store.checkPlace()
        for suffix in ["", "-wal", "-shm"] { #expect(mode(target + suffix) == 0o600, "\(suffix)") }
        #expect(mode(link) == 0o777)
        try store.close()
    }

    @Test(arguments: Departure.allCases) func `a store that has left its place is written no more`(
        departure: Departure
    ) throws {
        let (path, other) = (folder.path("s.sqlite"), folder.path("other.sqlite"))
        try Store.open(path: other, model: model).close()
        try Store.open(path: folder.path("real.sqlite"), model: model).close()
        if departure == .linkedElsewhere {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "real.sqlite")
        }
        let store = try Store.open(path: path, model: model)
        let writer = try WriterContext(store: store)
        _ = try writer.apply(WriterContext.Chunk(events: [ChangeSet(model.upsert("Person", .text("a"), []))]))
        try writer.commit()
        try store.checkPlace()
        switch departure {
        case .removed: unlink(path)
        case .exchanged: #expect(rename(other, path) == 0)
        case .withoutLog: unlink(path + "-wal")
        case .linkedElsewhere:
            unlink(path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "other.sqlite")
        }
        let found = #expect(throws: StoreError.self) { try store.checkPlace() }
        #expect(found?.code == .unavailable && found?.isRetriable == false)
        let refused = #expect(throws: StoreError.self) {
            _ = try writer.apply(WriterContext.Chunk(events: [ChangeSet(model.upsert("Person", .text("b"), []))]))
            try writer.commit()
        }
        #expect(refused == StoreError.displaced(path))
    }

    @Test func `a file has its name when it is whole, and its mode from the beginning`() throws {
        let (path, elsewhere) = (folder.path("made"), folder.path("elsewhere"))
        try DurableFile.write("first", to: path)
        try DurableFile.write("second", to: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "second")
        #expect(mode(path) == 0o600)
        // A link that somebody has put there is never followed.
        for name in ["draft.new", "empty", "locked"] {
            try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: elsewhere)
        }
        try DurableFile.write("third", to: folder.path("draft"))
        #expect(throws: StoreError.self) { try DurableFile.make(folder.path("empty")) }
        #expect(throws: StoreError.self) { try FileLock(folder.path("locked"), action: "tests") }
        #expect(!FileManager.default.fileExists(atPath: elsewhere))
        #expect(throws: StoreError.self) { try DurableFile.replace(path, with: folder.path("missing")) }
    }

    @Test func `the mark of a failed disk follows no link`() throws {
        let (path, elsewhere) = (folder.path("s.sqlite"), folder.path("elsewhere"))
        let store = try Store.open(path: path, model: model)
        try FileManager.default.createSymbolicLink(atPath: path + "-suspect", withDestinationPath: elsewhere)
        store.storage.note(.damaged)
        #expect(store.needsVerification && !FileManager.default.fileExists(atPath: elsewhere))
        unlink(path + "-suspect")
        store.storage.note(.damaged)
        #expect(mode(path + "-suspect") == 0o600)
        store.storage.noteSound()
        try store.close()
    }

    @Test func `a folder of a unique name lets its owner in alone`() throws {
        let made = try (0..<2).map { _ in try DurableFile.makeUniqueFolder(in: folder.url.path, prefix: "demo-") }
        #expect(made[0] != made[1])
        #expect(made.allSatisfy { mode($0) == 0o700 })
        try DurableFile.makeFolder(folder.path("a/b"))
        #expect(mode(folder.path("a/b")) == 0o700)
    }
}
