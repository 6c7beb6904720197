import GraphCore
import IngestCore
import KafkaClient
import Logging
import SQLiteStorage

/// Examines a configuration with its model, store and broker, and the machine, without writing anything.
///
/// `check` runs ``configured``, and ends at the first failure; `doctor` runs all and goes on.
package final class Examiner {
    let configuration: WorkerConfiguration
    let logger: Logger
    private let isOffline: Bool
    private var loadedModel: ObjectModel?
    private(set) var connected: (admin: Admin, metadata: ClusterMetadata)?
    private var asked: StatusReport?
    /// Whether the store could not be read: later examinations do not say so again.
    var isStoreFaulty = false

    /// Makes an examiner.
    ///
    /// - Parameter isOffline: whether the broker is left out.
    package init(_ configuration: WorkerConfiguration, isOffline: Bool, logger: Logger) {
        self.configuration = configuration
        self.isOffline = isOffline
        self.logger = logger
    }

    /// The model, the routes, the store with its folder and disk, and the broker, in this order.
    package var configured: [Examination] {
        [
            Examination("model", examineModel), Examination("routes", examineRoutes),
            Examination("store", examineStore), Examination("permissions", examinePermissions),
            Examination("disk", examineDisk), Examination("broker", examineBroker),
        ]
    }

    /// The examinations that `check` leaves out.
    package var further: [Examination] {
        [
            Examination("worker", examineWorker), Examination("contents", examineContents),
            Examination("purges", examinePurges), Examination("port", examinePort),
            Examination("topics", examineTopics),
            Examination("positions", examinePositions), Examination("group", examineGroup),
            Examination("clock", examineClock), Examination("certificates", examineCertificates),
            Examination("limits", examineLimits), Examination("versions", examineVersions),
        ]
    }

    /// Loads the model; once.
    func model() throws -> ObjectModel {
        if let loadedModel { return loadedModel }
        let model = try ObjectModel.load(path: configuration.model)
        loadedModel = model
        return model
    }

    private func examineModel() throws -> Examination.Outcome {
        let model = try model()
        try configuration.checkStorage(canKeep: model)
        return .ok("\(model.name) \(model.version), \(counted(model.entities.count, "entity")), \(configuration.model)")
    }

    private func examineRoutes() throws -> Examination.Outcome {
        let model = try model()
        let topics = try configuration.topics.map { try configuration.decoder(of: $0, model: model, registry: nil) }
        let files = try configuration.files.map { try configuration.decoder(of: $0, place: $0.match, model: model) }
        // The properties of librdkafka are checked here too: without a broker, and before the store.
        _ = try configuration.kafka.consumerConfiguration(logger: logger)
        let sources =
            configuration.topics.map { "topic \($0.name)" } + configuration.files.map { "files \($0.match)" }
        let lost = (topics + files).flatMap(\.lostOffsets)
        if let place = lost.first {
            return .warning(
                "The program of \(place) reads an offset with strptime, which jq 1.6 forgets",
                remedy: "Leave the time as text, and state its form in 'types' beside the program")
        }
        return .ok(sources.joined(separator: ", "))
    }

    private func examineStore() throws -> Examination.Outcome {
        let path = configuration.storePlace
        if configuration.hasStoreForEachPartition {
            return .ok("a store for each partition at \(path); --store examines one")
        }
        let model = try model()
        isStoreFaulty = true
        guard try configuration.hasStore(model: model) else {
            isStoreFaulty = false
            return .ok("\(path) will be made")
        }
        let store = try configuration.openStoreForReading(model: model)
        defer { try? store.close() }
        try configuration.checkPartitions(of: store)
        let token = try store.read { try $0.lastToken() }
        isStoreFaulty = false
        let facts = "\(path), history token \(token)"
        guard store.needsVerification else { return .ok(facts) }
        return .warning(
            "\(facts), marked as suspect: the next writer verifies it first", remedy: StoreError.damageRemedy)
    }

    // MARK: The broker

    static let timeoutMilliseconds = 5000

    private func examineBroker() throws -> Examination.Outcome {
        if isOffline { return .skipped("not asked") }
        let admin = try Admin(configuration: configuration.kafka.clientConfiguration(logger: logger))
        let metadata = try admin.metadata(timeoutMilliseconds: Self.timeoutMilliseconds)
        connected = (admin, metadata)
        let missing = Self.missing(configuration.topics.map(\.name), in: metadata)
        if !missing.isEmpty {
            throw ExaminationError(
                code: .topic, message: "The broker has no topic \(missing.joined(separator: ", "))",
                remedy: "Create it, or correct 'topics'")
        }
        if configuration.hasStoreForEachPartition {
            let counts = PartitionCounts(of: configuration.partitionedTopics)
            if let fault = counts.fault(metadata.partitionNumbers) { throw fault }
        }
        let count = metadata.brokers.count
        return .ok("\(counted(count, "broker")), librdkafka \(KafkaLibrary.versionString)")
    }

    /// The topics that the broker does not have.
    private static func missing(_ topics: [String], in metadata: ClusterMetadata) -> [String] {
        topics.filter { metadata.topics[$0] == nil }
    }

    static let unanswered = Examination.Outcome.skipped("not examined, since no broker has answered")

    private func examineTopics() -> Examination.Outcome {
        guard let connected else { return Self.unanswered }
        let outputs = [configuration.notifications.topic, configuration.deadLetters.topic].compactMap(\.self)
        let missing = Self.missing(outputs, in: connected.metadata)
        if !missing.isEmpty {
            return .warning(
                "the broker has no topic \(missing.joined(separator: ", ")), which the worker writes",
                remedy: "Create it, unless the broker creates topics by itself")
        }
        let topics = connected.metadata.topics.filter { name, _ in
            configuration.topics.contains { $0.name == name } || outputs.contains(name)
        }
        let leaderless = topics.flatMap { name, partitions in
            partitions.filter { $0.leader == nil }.map { "\(name)/\($0.number)" }
        }
        if !leaderless.isEmpty {
            return .warning(
                "no broker leads \(leaderless.sorted().joined(separator: ", "))",
                remedy: "Bring the missing brokers back: nobody can read or write these partitions")
        }
        let list = topics.sorted { $0.key < $1.key }.map { name, partitions in
            "\(name) with \(counted(partitions.count, "partition"))"
        }
        return .ok(list.joined(separator: ", "))
    }

    /// Asks for the group's offsets, which needs the rights that the worker needs, and for its members.
    private func examineGroup() throws -> Examination.Outcome {
        guard let connected else { return Self.unanswered }
        let kafka = configuration.kafka
        if kafka.partitions != nil { return .skipped("no group: kafka.partitions chooses the partitions") }
        guard let group = kafka.properties["group.id"] else { return .skipped("no group.id is set") }
        let offsets = try connected.admin.committedOffsets(
            group: group, timeoutMilliseconds: Self.timeoutMilliseconds)
        let facts = "\(group) may be read, and has offsets of \(counted(offsets.count, "partition"))"
        let members: [ConsumerGroup.Member]
        do {
            members = try connected.admin.describe(group: group, timeoutMilliseconds: Self.timeoutMilliseconds).members
        } catch let error as KafkaError {
            return .ok("\(facts); the broker does not tell its members: \(error.message)")
        }
        // The worker that runs is a member, and knows best which partitions another one has.
        let isOwnRunning = try !isStoreFaulty && (status()?.worker != nil || writer() != nil)
        return try GroupMembers(
            members: members, clientID: kafka.properties["client.id"] ?? GroupMembers.defaultClientID,
            topics: configuration.topics.map(\.name), hasOwnStore: configuration.store.writers == .one,
            stored: isOwnRunning ? [] : Set(storedPositions().map { TopicPartition($0.topic, $0.partition) })
        ).outcome(facts)
    }

    // MARK: The worker and its store

    /// Asks the worker that runs, or reads the store alone; once. Nil without a store.
    func status() throws -> StatusReport? {
        if let asked { return asked }
        let model = try model()
        guard try configuration.hasStore(model: model) else { return nil }
        asked = try StatusSource(configuration: configuration, model: model).report()
        return asked
    }

    private func examineWorker() throws -> Examination.Outcome {
        let found: StatusReport?
        do { found = try status() } catch  where isStoreFaulty {
            return .skipped("no worker answers; see the store")
        }
        guard let report = found else { return .skipped("there is no store, and no worker") }
        guard let worker = report.worker else {
            let reason = report.withoutWorker ?? ""
            let process = try writer()
            return .ok(process.map { "process \($0) writes the store; \(reason)" } ?? "no worker runs: \(reason)")
        }
        let attention = report.verdict?.attention.first
        let message = "\(worker): " + (attention.map { "\($0.title): \($0.reason)" } ?? report.sentence)
        let remedy = attention?.remedy ?? "Wait until it is ready: 'ingest-worker status --watch' shows how far it is"
        if report.ready != true { throw ExaminationError(code: .worker, message: message, remedy: remedy) }
        if report.hasTooManyLetters { throw ExaminationError(code: .deadLetters, message: message, remedy: remedy) }
        return attention == nil ? .ok(message) : .warning(message, remedy: remedy)
    }

    /// The process of this machine that writes the store, or nil.
    func writer() throws -> Int32? {
        guard case .file(let path) = configuration.storeKind, try Store.exists(path: path) else { return nil }
        return try Store.writer(ofFile: path)
    }

    /// A larger store is verified by its own command.
    private static let verifiedBytes = 256 << 20

    private func examineContents() throws -> Examination.Outcome {
        if isStoreFaulty { return .skipped("not verified, since the store cannot be read") }
        let model = try model()
        guard try configuration.hasStore(model: model) else { return .skipped("there is no store yet") }
        let store = try configuration.openStoreForReading(model: model)
        defer { try? store.close() }
        guard let size = store.size, size.bytes <= Self.verifiedBytes else {
            return .skipped("not verified, since it takes long; 'ingest-worker verify' does it")
        }
        let report = try store.verify()
        if let error = report.error(remedy: StoreError.damageRemedy) { throw error }
        if !report.isSound {
            return .warning("\(report.problemNumber), none of them damage", remedy: VerificationReport.ruleRemedy)
        }
        return .ok("sound, by \(report.checks.count) checks")
    }
}
