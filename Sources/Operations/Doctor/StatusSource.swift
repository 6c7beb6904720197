import GraphCore
import IngestCore
import SQLiteStorage

/// Finds the state of a worker and its store: asks the worker that runs, and reads the store alone where none answers.
package struct StatusSource {
    private let configuration: WorkerConfiguration
    private let model: ObjectModel

    /// Makes a source for the configured worker and store.
    package init(configuration: WorkerConfiguration, model: ObjectModel) {
        self.configuration = configuration
        self.model = model
    }

    /// Returns the state now. Blocks its thread, for a few seconds where a worker does not answer.
    ///
    /// - Throws: `StoreError` where no worker answers and the store cannot be read.
    package func report() throws -> StatusReport {
        guard configuration.http.enabled else { return try readStore("http.enabled is false") }
        let get = HTTPGet(configuration.http)
        let address = get.address
        // A worker of this store alone has the plain path.
        let path = configuration.store.partition.map { "/stores/\($0)/status" } ?? "/status"
        let answer = get.answer(path)
        guard let status = answer?.code == 404 ? get.answer("/status") : answer else {
            return try readStore("nobody answers at \(address)")
        }
        guard status.code == 200 else { return try readStore(get.refusal(code: status.code)) }
        guard let report = try? StatusReport(worker: address, status: status.body) else {
            return try readStore("\(address) is no worker of this program")
        }
        guard report.store.location == configuration.storeLocation else {
            return try readStore(
                "the worker at \(address) writes another store, \(report.store.location ?? report.store.path)")
        }
        return report
    }

    private func readStore(_ reason: String) throws -> StatusReport {
        let store = try configuration.openStoreForReading(model: model)
        var reason = reason
        if case .file(let path) = configuration.storeKind, let process = try Store.writer(ofFile: path) {
            reason += ", but process \(process) writes the store"
        }
        return try store.read { [reason] context in
            let cursor = configuration.notifications.topic == nil ? nil : configuration.notifications.cursorName
            let cursors = try context.cursors()
            var report = StatusReport(
                withoutWorker: reason,
                store: StatusReport.StoreState(
                    path: configuration.storePlace, model: model.name, bytes: nil, walBytes: nil),
                history: StatusReport.HistoryState(
                    token: try context.lastToken(), notified: cursor.flatMap { cursors[$0] }),
                deadLetters: try context.deadLetterCount(),
                positions: try context.positions().map {
                    StatusReport.Position(
                        topic: $0.topic, partition: $0.partition, nextOffset: $0.nextOffset)
                })
            report.heldPurges = try HeldPurges(context)?.sentences
            report.isSuspect = store.needsVerification
            if case .file(let path) = configuration.storeKind { report.diskFault = DiskRoom(ofStore: path)?.fault }
            return report
        }
    }
}
