import Foundation
import GraphCore
import IngestCore
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Reads the configuration again at each SIGHUP, and hands the worker the changes that it can take while it runs.
///
/// A wrong configuration changes nothing: its mistakes are in the log.
final class ConfigurationReloader: Service {
    private let model: ObjectModel
    private let logger: Logger
    private let read: @Sendable () throws -> WorkerConfiguration
    private let take: @Sendable (WorkerConfiguration) -> Void
    private let running: Mutex<WorkerConfiguration>
    private let isRebuilding: Bool
    /// The model's files as they were at the worker's start.
    private let modelFiles: [String: Data]

    /// - Parameters:
    ///   - running: the configuration that the worker has.
    ///   - isRebuilding: whether the worker builds a store, with one configuration from its beginning to its end.
    ///   - read: reads the configuration from the sources of the worker's start.
    ///   - take: takes the configuration that the worker has from now on.
    init(
        running: WorkerConfiguration, model: ObjectModel, logger: Logger, isRebuilding: Bool = false,
        read: @escaping @Sendable () throws -> WorkerConfiguration,
        take: @escaping @Sendable (WorkerConfiguration) -> Void
    ) {
        self.model = model
        self.logger = logger
        self.isRebuilding = isRebuilding
        self.read = read
        self.take = take
        self.running = Mutex(running)
        modelFiles = Self.files(of: running.model)
    }

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() { reload() }
    }

    /// Reads the configuration once.
    func reload() {
        if isRebuilding {
            return logger.warning("the store is being rebuilt with its configuration: it is not read again now")
        }
        let reload: ConfigurationReload
        do {
            reload = ConfigurationReload(from: running.withLock { $0 }, to: try read())
            try check(reload.configuration)
        } catch {
            logger.error(
                "the configuration is wrong: the worker goes on with the one that it has",
                metadata: ["reason": "\(error)"])
            return
        }
        for change in reload.taken { report(change, "a setting has changed") }
        for change in reload.needingRestart { report(change, "a setting needs a restart to change") }
        let isOtherModel = hasModelChanged()
        if isOtherModel {
            logger.warning(
                "the model file has changed, and needs a restart", metadata: ["model": "\(reload.configuration.model)"])
        }
        if reload.taken.isEmpty, reload.needingRestart.isEmpty, !isOtherModel {
            logger.notice("the configuration has not changed")
        }
        if reload.taken.isEmpty { return }
        running.withLock { $0 = reload.configuration }
        StructuredLogHandler.processLevel.withLock { $0 = reload.configuration.log.level }
        take(reload.configuration)
    }

    private func hasModelChanged() -> Bool { Self.files(of: running.withLock { $0.model }) != modelFiles }

    /// The contents of a model's file, or of the files in its folder, by their paths.
    private static func files(of model: String) -> [String: Data] {
        let names = FileManager.default.enumerator(atPath: model)?.compactMap { $0 as? String } ?? []
        let paths = [model] + names.map { "\(model)/\($0)" }
        return Dictionary(paths.compactMap { path in FileManager.default.contents(atPath: path).map { (path, $0) } }) {
            first, _ in first
        }
    }

    /// Refuses routes that do not fit the model.
    private func check(_ configuration: WorkerConfiguration) throws {
        for topic in configuration.topics {
            _ = try configuration.decoder(of: topic, model: model, registry: configuration.makeSchemaRegistry())
        }
    }

    private func report(_ change: ConfigurationReload.Change, _ message: Logger.Message) {
        logger.notice(
            message, metadata: ["setting": "\(change.key)", "from": "\(change.from)", "to": "\(change.to)"])
    }
}
