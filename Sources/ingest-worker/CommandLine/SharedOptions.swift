import ArgumentParser
import Foundation
import GraphCore
import IngestCore
import Logging
import Synchronization

/// The options that every command takes.
struct SharedOptions: ParsableArguments {
    @Option(
        name: .long,
        help: "The configuration file; by default that of INGEST_CONFIG, else config/worker.yaml, if it exists.")
    var config: String?

    @Option(name: .long, help: "Sets a configuration key, as in --set store.path=data/store.sqlite. May be repeated.")
    var set: [String] = []

    @Option(
        name: .long,
        help: "Where each partition has a store: the stores that are meant, as in 3 or 0-3,7; by default all there are."
    )
    var store: StoreChoice?

    @Option(name: .long, help: "The lowest level to log: trace, debug, info, notice, warning, error, critical.")
    var logLevel: String?

    /// Reads the configuration: flags go before the environment, that before the file.
    ///
    /// - Parameters:
    ///   - fixed: the settings that the command does not leave to the user, as in `--set`.
    ///   - takesAllStores: whether the command is for all stores, where each partition has one.
    func load(fixed: [String] = [], takesAllStores: Bool = false) throws -> LoadedConfiguration {
        var loaded = try loadAll(fixed: fixed)
        loaded.configuration = try chosen(loaded.configuration, takesAllStores: takesAllStores)
        return loaded
    }

    private func loadAll(fixed: [String] = []) throws -> LoadedConfiguration {
        let level = logLevel.map { ["log.level=\($0)"] } ?? []
        let loaded = try WorkerConfiguration.load(
            file: config, settings: set + level + fixed, environment: ProcessInfo.processInfo.environment)
        Console.begin(loaded.configuration)
        return loaded
    }

    /// Returns the configuration of the store that `--store` chooses.
    private func chosen(_ configuration: WorkerConfiguration, takesAllStores: Bool) throws -> WorkerConfiguration {
        guard configuration.hasStoreForEachPartition else {
            if store == nil { return configuration }
            throw ValidationError("--store is for a configuration with {partition} in store.path or store.url")
        }
        if let partition = store?.one { return configuration.ofPartition(partition) }
        if store != nil { throw ValidationError("--store names one store here, as in --store 0") }
        if takesAllStores { return configuration }
        throw CommandError(
            code: ExitStatus.configuration,
            description: "Each partition has a store of its own. Choose one, as in --store 0")
    }

    /// Returns the partitions whose stores are meant; nil where one store is.
    ///
    /// - Throws: `CommandError` where no store is there.
    func severalStores() throws -> [Int32]? {
        if store?.one != nil { return nil }
        let configuration = try loadAll().configuration
        guard configuration.hasStoreForEachPartition else { return nil }
        if let store { return store.partitions }
        let partitions = try configuration.partitionsWithStore(model: ObjectModel.load(path: configuration.model))
        if !partitions.isEmpty { return partitions }
        throw CommandError(
            code: ExitStatus.badData,
            description:
                "No partition has a store at \(configuration.storePlace) yet. Check the place, or run the worker")
    }

    /// Reads the configuration again, from the same sources.
    var reading: @Sendable () throws -> WorkerConfiguration {
        let (file, settings) = (config, set + (logLevel.map { ["log.level=\($0)"] } ?? []))
        return { [store] in
            let configuration = try WorkerConfiguration.load(
                file: file, settings: settings, environment: ProcessInfo.processInfo.environment
            ).configuration
            return store?.one.map { configuration.ofPartition($0) } ?? configuration
        }
    }

    private static let hasLogging = Mutex(false)

    /// Makes the logger, which writes to standard error.
    func logger(_ configuration: WorkerConfiguration) -> Logger {
        Self.hasLogging.withLock { hasLogging in
            // A command may run for several stores.
            if hasLogging { return }
            hasLogging = true
            LoggingSystem.bootstrap(
                StructuredLogHandler.factory(
                    configuration.log, secretValues: configuration.secretValues, setsProcessLevel: true))
        }
        return Logger(label: "ingest-worker")
    }

    /// Opens the configured store for writing, and takes its lease.
    ///
    /// - Parameter verifiesSuspectStore: whether a store whose disk failed is verified first.
    func openWriter(verifiesSuspectStore: Bool) throws -> WriterContext {
        let configuration = try load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        let store = try configuration.openStore(model: model)
        var options = configuration.writerOptions
        options.verifiesSuspectStore = verifiesSuspectStore
        return try WriterContext(store: store, options: options)
    }

    /// Has the store's writer carry a request out: the worker that runs, or this process where none does. A note says
    /// which.
    ///
    /// - Parameter onNote: called with each line of progress.
    func carryOut(
        _ request: ControlRequest, onNote: @escaping (String) -> Void = { _ in },
        onStep: @escaping (StoreStep) -> Void = { _ in }
    ) throws -> ControlResult {
        let configuration = try load().configuration
        var requests = StoreRequests(
            configuration: configuration, model: try ObjectModel.load(path: configuration.model))
        requests.onNote = onNote
        requests.onStep = onStep
        requests.onWay = { Console.note($0.text) }
        requests.onWait = { Console.note("Waiting for the worker that writes the store") }
        return try requests.carryOut(request)
    }

    /// Opens the configured store for reading.
    func openForReading() throws -> Store {
        let configuration = try load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        return try configuration.openStoreForReading(model: model)
    }
}

/// The form of a command's list.
struct ListForm: ParsableArguments {
    @Flag(help: "Prints one JSON object per line.")
    var json = false

    /// Prints an element as text, or as JSON.
    func print(_ text: @autoclosure () -> String, json line: @autoclosure () -> String) {
        Console.print(json ? line() : text().visible)
    }
}

extension Timestamp {
    /// The help of each option that takes a time.
    static let forms = "a time such as 2026-03-01 or 2026-03-01T08:00:00Z, or an age such as 30m, 1h or 2d"

    /// Reads the value of an option, a time or an age, in microseconds since 1970 UTC; nil where the option is not given.
    static func read(_ text: String?, of option: String) throws -> Int64? {
        guard let text else { return nil }
        if let time = microseconds(timeOrAge: text, now: WriterContext.systemTime()) { return time }
        throw ValidationError("\(option) takes \(forms)")
    }
}
