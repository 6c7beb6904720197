import ArgumentParser
import Foundation
import IngestCore
import KafkaClient
import ObjectGraph

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks configuration, model, routes, store and broker, without writing anything.",
        discussion: "Example: ingest-worker check --offline")

    @OptionGroup var options: SharedOptions

    @Flag(help: "Leaves the broker out.")
    var offline = false

    @Flag(help: "Prints every setting with its origin; secrets are redacted.")
    var settings = false

    func run() throws {
        let loaded = try options.load()
        let configuration = loaded.configuration
        try configuration.checkSupported()
        let logger = options.logger(configuration)
        Console.print("configuration  ok  \(loaded.file ?? "defaults")")
        if settings { Console.print(loaded.describe()) }
        let model = try ObjectModel.load(path: configuration.model)
        Console.print(
            "model          ok  \(model.name) \(model.version), \(model.entities.count) entities, "
                + "\(configuration.model)")
        for topic in configuration.topics {
            _ = try configuration.decoder(of: topic, model: model)
        }
        for file in configuration.files {
            _ = try configuration.decoder(of: file, place: file.match, model: model)
        }
        Console.print("routes         ok  \(configuration.topics.map(\.name).joined(separator: ", "))")
        _ = try configuration.kafka.consumerConfiguration(logger: logger)
        try checkStore(configuration, model)
        if offline {
            Console.print("broker         not asked")
        } else {
            let client = configuration.kafka.clientConfiguration(logger: logger)
            try checkBroker(configuration, Admin(configuration: client))
        }
    }

    private func checkStore(_ configuration: WorkerConfiguration, _ model: ObjectModel) throws {
        let path = configuration.store.path
        guard FileManager.default.fileExists(atPath: path) else {
            Console.print("store          ok  \(path) will be made")
            return
        }
        let store = try Store.openForReading(path: path, model: model, options: configuration.storeOptions)
        let token = try store.read { try $0.lastToken() }
        Console.print("store          ok  \(path), history token \(token)")
    }

    private func checkBroker(_ configuration: WorkerConfiguration, _ admin: Admin) throws {
        let metadata = try admin.metadata(timeoutMilliseconds: 5000)
        let missing = configuration.topics.map(\.name).filter { metadata.topics[$0] == nil }
        if !missing.isEmpty {
            throw CommandError(
                code: ExitStatus.configuration,
                description: "The broker has no topic \(missing.joined(separator: ", ")). "
                    + "Create it, or correct 'topics'")
        }
        let count = metadata.brokers.count
        Console.print(
            "broker         ok  \(count) \(count == 1 ? "broker" : "brokers"), "
                + "librdkafka \(KafkaLibrary.versionString)")
    }
}
