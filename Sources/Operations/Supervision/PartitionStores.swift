import CoreMetrics
import Dispatch
import GraphCore
import IngestCore
import KafkaClient
import Logging
import RecordDecoding
import Synchronization
import Tracing

/// Makes the workers of a process's partitions, each with a store of its own.
final class PartitionStores: Sendable {
    private let model: ObjectModel
    private let logger: Logger
    private let hooks: WorkerRuntime.Hooks
    private let kafka: KafkaConfiguration
    private let admin: Admin
    /// The configuration of workers that start from now on.
    private let latest: Mutex<WorkerConfiguration>
    /// The views over all stores; nil where the stores are files, or in several databases.
    private let union: StoreUnion?
    /// The partitions whose stores are open.
    private let openPartitions = Mutex<Set<Int32>>([])
    /// The tracer and the metrics of the task that made this: the workers start on threads that have none.
    private let tracer = InstrumentationSystem.tracer
    private let factory = MetricsSystem.factory

    init(
        _ configuration: WorkerConfiguration, model: ObjectModel, logger: Logger, hooks: WorkerRuntime.Hooks,
        kafka: KafkaConfiguration, admin: Admin
    ) {
        (self.model, self.logger, self.kafka, self.admin) = (model, logger, kafka, admin)
        latest = Mutex(configuration)
        union = StoreUnion(of: configuration, model: model, logger: logger)
        var hooks = hooks
        (hooks.notifier, hooks.readConfiguration) = (nil, nil)
        self.hooks = hooks
    }

    /// The configuration that the workers have, or take before their next poll.
    var configuration: WorkerConfiguration { latest.withLock { $0 } }

    /// Gives workers that start from now on another configuration.
    func take(_ configuration: WorkerConfiguration) { latest.withLock { $0 = configuration } }

    /// Prepares the worker of a partition.
    ///
    /// - Parameter commit: commits the worker's offsets for the group.
    func worker(of partition: Int32, commit: @escaping MemberSources.Commit) -> PartitionWorker {
        let first = configuration
        return PartitionWorker { [self] in
            try await open(first.ofPartition(partition), partition, commit)
        } onOpen: { [self] runtime in
            openPartitions.withLock { _ = $0.insert(partition) }
            union?.changed(open: partition)
            // A configuration that came meanwhile.
            let latest = configuration
            if latest != first { runtime.take(latest.ofPartition(partition)) }
        } onEnd: { [self] failure in
            let other = openPartitions.withLock { open in
                open.remove(partition)
                return open.first
            }
            // Its store may be gone, and the views with it.
            if failure != nil, let other { union?.changed(open: other) }
        }
    }

    private func open(
        _ configuration: WorkerConfiguration, _ partition: Int32, _ commit: @escaping MemberSources.Commit
    ) async throws -> WorkerRuntime {
        try await DispatchQueue.global().run { [self] in try checkStore(configuration, partition) }
        var own = logger
        own[metadataKey: "store"] = "\(partition)"
        var configuration = configuration
        configuration.http.enabled = false
        return try await withMetricsFactory(factory) {
            try await withTracer(tracer) {
                try await WorkerRuntime.open(
                    configuration: configuration, model: model, logger: own, hooks: hooks, takeover: nil,
                    sources: MemberSources(base: kafka, commit: commit))
            }
        }
    }

    private static let absences: Set<KafkaError.Code> = [.unknownTopicOrPartition, .unknownTopic, .unknownPartition]

    /// Refuses to begin an empty store in silence where the group has read the partition into another.
    private func checkStore(_ configuration: WorkerConfiguration, _ partition: Int32) throws {
        if configuration.store.missing == .rebuild { return }
        guard let group = configuration.kafka.properties["group.id"], try !configuration.hasStore(model: model) else {
            return
        }
        for place in configuration.partitionedTopics.map({ TopicPartition($0, partition) }) {
            do {
                let committed = try admin.committedOffsets(group: group, partitions: [place])[place] ?? 0
                if committed == 0 { continue }
                throw PartitionError.storeMissing(configuration.storePlace, place, committed: committed, group: group)
            } catch let error as KafkaError where Self.absences.contains(error.code) {
                // Nobody has read a topic that is not there.
                continue
            }
        }
    }
}
