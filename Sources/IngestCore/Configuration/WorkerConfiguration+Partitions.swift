import Foundation
import GraphCore
import KafkaClient
import Logging
import PostgresStorage

/// Configurations with a store for each partition.
extension WorkerConfiguration {
    /// Whether each partition has a store of its own: its number stands in the store's path or URL.
    package var hasStoreForEachPartition: Bool {
        switch storeKind {
        case .file(let path): path.contains(StoreConfiguration.partitionMark)
        case .postgres(let url): url.contains(StoreConfiguration.partitionMark)
        }
    }

    /// The topics that every store reads whole.
    package var broadcastTopics: Set<String> { Set(topics.filter(\.broadcast).map(\.name)) }

    /// The partitions of a topic that the worker reads, where the configuration says so.
    package func selection(of topic: String) -> PartitionSelection {
        broadcastTopics.contains(topic) ? .all : kafka.partitions ?? .all
    }

    /// The topics of which each store reads one partition, or the worker's share.
    package var partitionedTopics: [String] { topics.filter { !$0.broadcast }.map(\.name) }

    /// Returns the partitions that have stores: the files or schemas that are there. Where the stores are in several
    /// databases, they are the partitions of the topics.
    ///
    /// - Throws: `StoreError` where the server, `KafkaError` where the broker does not answer.
    package func partitionsWithStore(model: ObjectModel) throws -> [Int32] {
        switch storeKind {
        case .file(let template): return Self.partitions(ofFiles: template)
        case .postgres(let url):
            let union = try PostgresUnion(
                url: url, mark: StoreConfiguration.partitionMark, model: model, options: postgresOptions)
            if let union { return try union.partitions() }
        }
        let admin = try Admin(
            configuration: kafka.clientConfiguration(
                logger: Logger(label: "stores") { _ in
                    SwiftLogNoOpLogHandler()
                }))
        let topics = try admin.metadata().topics
        return Set(partitionedTopics.flatMap { topics[$0, default: []].map(\.number) }).sorted()
    }

    /// Returns the partitions whose files are there.
    ///
    /// - Parameter template: a path with the mark, which may stand in it several times.
    static func partitions(ofFiles template: String) -> [Int32] {
        let mark = StoreConfiguration.partitionMark
        let parts = template.components(separatedBy: mark)
        var found = glob_t()
        defer { globfree(&found) }
        let escaped = parts.map { part in part.map { "*?[\\".contains($0) ? "\\\($0)" : "\($0)" }.joined() }
        guard glob(escaped.joined(separator: "*"), 0, nil, &found) == 0 else { return [] }
        let paths = (0..<Int(found.gl_pathc)).compactMap { found.gl_pathv[$0].map { String(cString: $0) } }
        let partitions = paths.compactMap { path -> Int32? in
            guard let partition = Int32(path.dropFirst(parts[0].count).prefix { $0.isNumber }) else { return nil }
            return template.replacing(mark, with: "\(partition)") == path ? partition : nil
        }
        return partitions.sorted()
    }

    /// Returns the configuration of the worker that reads one partition of each topic into the partition's store.
    package func ofPartition(_ partition: Int32) -> WorkerConfiguration {
        var own = self
        let (mark, number) = (StoreConfiguration.partitionMark, "\(partition)")
        own.store.path = store.path.replacing(mark, with: number)
        own.store.url = store.url?.replacing(mark, with: number)
        own.notifications.topic = notifications.topic?.replacing(mark, with: number)
        own.deadLetters.topic = deadLetters.topic?.replacing(mark, with: number)
        own.kafka.partitions = .list([partition...partition])
        own.store.partition = partition
        // Producers of one transactional.id fence each other.
        if let name = kafka.properties["transactional.id"] {
            own.kafka.properties["transactional.id"] = "\(name)-\(partition)"
        }
        return own
    }
}
