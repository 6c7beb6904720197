import Foundation
import ObjectGraph
import Synchronization

@testable import GraphCore
@testable import IngestCore
@testable import SQLiteStorage

/// A store whose writer serves requests on a thread of its own, as the worker's loop does.
final class ServedStore: @unchecked Sendable {
    let folder: URL
    let path: String
    let socket: String
    let writer: WriterContext
    let desk: ControlDesk
    let server: ControlServer
    private let configuration: WorkerConfiguration
    private let ended = DispatchSemaphore(value: 0)
    private let isStopping = Atomic<Bool>(false)

    init(under subfolder: String = "", limits: ControlLimits = ControlLimits()) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "control-\(UUID().uuidString)")
        let inner = folder.appending(path: subfolder)
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        self.path = inner.appending(path: "store.sqlite").path
        let store = try Store.open(path: self.path, model: WorkerHarness.model)
        writer = try WriterContext(store: store)
        var configuration = WorkerConfiguration()
        configuration.store.path = path
        self.configuration = configuration
        desk = try ControlDesk(configuration: configuration, store: store, logger: .silent)
        socket = WorkerConfiguration.controlPath(ofStore: self.path)
        server = try ControlServer(path: socket, desk: desk, logger: .silent, limits: limits)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Lets the threads run until ``stop()``.
    func start() {
        Thread.detachNewThread { [self] in
            server.run()
            ended.signal()
        }
        Thread.detachNewThread { [self] in
            while !isStopping.load(ordering: .acquiring) {
                try? desk.serve(writer) {}
                usleep(1_000)
            }
            desk.close()
            ended.signal()
        }
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        server.requestStop()
        for _ in 0..<2 { ended.wait() }
    }

    func requests() -> StoreRequests {
        StoreRequests(configuration: configuration, model: WorkerHarness.model)
    }
}
