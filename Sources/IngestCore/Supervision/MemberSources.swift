import KafkaClient

/// The sources of one partition's worker, which reads without a group. Offsets are taken from members only, so the
/// process's member commits them.
package struct MemberSources: RecordSources {
    /// Commits offsets for the group; the parameters are those of `RecordSource.commit`.
    package typealias Commit =
        @Sendable (_ offsets: [TopicPartition: Int64], _ asynchronously: Bool, _ timeoutMilliseconds: Int) throws ->
        Void

    private let base: any RecordSources
    private let commit: Commit

    package init(base: any RecordSources, commit: @escaping Commit) { (self.base, self.commit) = (base, commit) }

    package var fetchWaitSeconds: Double { base.fetchWaitSeconds }

    package func join(_ topics: [String], rebalance: @escaping SourceRebalanceHandler) throws -> any RecordSource {
        try base.join(topics, rebalance: rebalance)
    }

    package func withoutGroup() throws -> any RecordSource { MemberSource(try base.withoutGroup(), commit) }
}

/// A source that reads by itself, and leaves its commits to a member of the group.
final class MemberSource: RecordSource {
    private let base: any RecordSource
    private let commit: MemberSources.Commit

    init(_ base: any RecordSource, _ commit: @escaping MemberSources.Commit) {
        (self.base, self.commit) = (base, commit)
    }

    func commit(_ offsets: [TopicPartition: Int64], asynchronously: Bool, timeoutMilliseconds: Int) throws {
        try commit(offsets, asynchronously, timeoutMilliseconds)
    }

    func poll(maxRecords: Int, timeoutMilliseconds: Int) throws -> RecordBatch {
        try base.poll(maxRecords: maxRecords, timeoutMilliseconds: timeoutMilliseconds)
    }

    func wake() { base.wake() }

    var assignment: [TopicPartition] { get throws { try base.assignment } }

    func assign(adding offsets: [TopicPartition: Int64]) throws { try base.assign(adding: offsets) }

    func pause(_ partitions: [TopicPartition]) throws { try base.pause(partitions) }

    func resume(_ partitions: [TopicPartition]) throws { try base.resume(partitions) }

    func seek(_ partition: TopicPartition, to offset: Int64, timeoutMilliseconds: Int) throws {
        try base.seek(partition, to: offset, timeoutMilliseconds: timeoutMilliseconds)
    }

    func watermarks(_ partition: TopicPartition) throws -> Watermarks? { try base.watermarks(partition) }

    func queryWatermarks(_ partition: TopicPartition, timeoutMilliseconds: Int) throws -> Watermarks {
        try base.queryWatermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
    }

    func close(timeoutMilliseconds: Int) throws { try base.close(timeoutMilliseconds: timeoutMilliseconds) }

    func abandon() throws { try base.abandon() }
}
