import Foundation
import GRDB
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// A store whose disk failed is verified before it is written again.
@Suite struct SuspicionTests {
    private let failure = StoreError(resultCode: 10, action: "save the chunk")
    private let folder = FileManager.default.temporaryDirectory.appending(path: "suspect-\(UUID().uuidString)")

    private func open() throws -> Store {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try Store.open(
            path: folder.appending(path: "store.sqlite").path, model: ObjectModel.parse(Models.people))
    }

    @Test func `a sound store loses its mark`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try open()
        store.storage.note(failure)
        #expect(store.needsVerification)
        let writer = try WriterContext(store: store)
        #expect(!store.needsVerification)
        try writer.close()
    }

    @Test func `a reader that finds the disk failed leaves the mark`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try open()
        let busy = #expect(throws: StoreError.self) {
            try store.read { _ in throw DatabaseError(resultCode: .SQLITE_BUSY) }
        }
        #expect(busy?.code == .busy && !store.needsVerification)
        let error = #expect(throws: StoreError.self) {
            try store.read { _ in throw DatabaseError(resultCode: .SQLITE_IOERR) }
        }
        #expect(error?.code == .inputOutput && store.needsVerification)
    }

    /// Statements that are not GRDB's fail with the store's own errors.
    @Test func `a fetch that finds the disk failed leaves the mark`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try open()
        let value = StoreError(.value, "A stored value cannot be worked with", remedy: "Correct it")
        #expect(throws: value) { try store.read { _ in throw value } }
        #expect(!store.needsVerification)
        #expect(throws: failure) { try store.read { _ in throw failure } }
        #expect(store.needsVerification)
    }

    /// A checkpoint at the close would write what nobody has verified, and take the log away that it came from.
    @Test(arguments: [true, false]) func `after a disk's failure closing writes nothing`(closes: Bool) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        func contents(_ suffix: String = "") -> Data? { try? Data(contentsOf: URL(filePath: path + suffix)) }
        let path = folder.appending(path: "store.sqlite").path
        var store: Store? = try open()
        try save(1, store)
        let (file, log) = (contents(), contents("-wal"))
        #expect(file != nil && log?.isEmpty == false)
        store?.storage.note(failure)
        if closes { try store?.close() }
        store = nil
        #expect(contents() == file)
        #expect(contents("-wal") == log)

        // Verified, it is closed as ever, with all that was in the log.
        store = try open()
        try save(2, store)
        #expect(store?.needsVerification == false)
        #expect(try store?.read { try $0.positions().map(\.nextOffset) } == [2])
        try store?.close()
        store = nil
        #expect(contents() != file)
        #expect(contents("-wal")?.isEmpty != false)
    }

    /// The disk that failed may refuse the mark too.
    @Test func `a store is suspect though the mark could not be made`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try open()
        store.storage.note(failure)
        try FileManager.default.removeItem(atPath: store.sqlite().suspicionPath)
        #expect(store.needsVerification)
        try WriterContext(store: store).close()
        #expect(!store.needsVerification)
    }

    private func save(_ offset: Int64, _ store: Store?) throws {
        let writer = try WriterContext(store: #require(store))
        let position = SourcePosition(topic: "t", partition: 0, nextOffset: offset)
        _ = try writer.apply(WriterContext.Chunk(events: [], positions: [position]))
        try writer.close()
    }

    @Test func `other failures leave no mark`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try open()
        for code: Int32 in [5, 13, 19] { store.storage.note(StoreError(resultCode: code, action: "save the chunk")) }
        #expect(!store.needsVerification)
    }

    @Test func `a store whose objects only break rules of the model is written again`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appending(path: "store.sqlite").path
        let graph = try StoreVerifierTests.visit(.sqlite, path: path)
        try graph.writer.close()
        try graph.store.close()
        let store = try Store.open(path: path, model: StoreVerifierTests.tightened())
        store.storage.note(failure)
        try WriterContext(store: store).close()
        #expect(!store.needsVerification)
        #expect(try store.verify().check(named: "limits")?.problemCount == 1)
    }

    @Test func `an unsound store is refused until it is mended`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try open()
        try store.sqlite().onWriter { handle in
            let connection = SQLiteWriterSession(handle, model: store.model)
            try connection.runOnce(
                "INSERT INTO _position (topic, partition, nextOffset) VALUES ('t', 0, -5)")
        }
        store.storage.note(failure)
        let error = #expect(throws: StoreError.self) { try WriterContext(store: store) }
        #expect(error?.code == .corrupt)
        #expect(store.needsVerification)
        var options = WriterContext.Options()
        options.verifiesSuspectStore = false
        try WriterContext(store: store, options: options).close()
    }
}
