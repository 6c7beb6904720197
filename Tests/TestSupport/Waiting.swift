import Foundation
import KafkaClient

/// The awaited event did not happen, and nothing moves any more.
public struct WaitLimitReached: Error, CustomStringConvertible {
    /// What was awaited.
    public let description: String
}

/// Calls `condition` until it holds; throws once nothing has moved for long: see ``Stillness``.
///
/// - Parameter progress: a value that changes with each progress.
public func wait(
    for what: String, progress: () throws -> AnyHashable? = { nil }, everyMilliseconds: UInt32 = 5,
    until condition: () throws -> Bool
) throws {
    var stillness = Stillness()
    while try !condition() {
        if try stillness.isTooLong(watching: progress()) {
            throw WaitLimitReached(description: "gave up waiting for \(what): \(Stillness.description)")
        }
        if everyMilliseconds > 0 { usleep(everyMilliseconds * 1_000) }
    }
}

/// A copy of a record, for comparing.
public struct ReadRecord: Hashable, Sendable {
    /// Where it was read.
    public let topicPartition: TopicPartition
    /// Its offset.
    public let offset: Int64
    /// Its key as text.
    public let key: String?
    /// Its value as text.
    public let value: String?
    /// Its headers.
    public let headers: [RecordHeader]

    /// Copies a record.
    public init(_ record: ConsumedRecord) {
        topicPartition = record.topicPartition
        offset = record.offset
        key = record.key.map { String(decoding: $0, as: UTF8.self) }
        value = record.value.map { String(decoding: $0, as: UTF8.self) }
        headers = record.headers
    }
}

extension Consumer {
    /// Polls until `count` records came, and gives copies.
    public func read(_ count: Int) throws -> [ReadRecord] {
        var records: [ReadRecord] = []
        try wait(for: "\(count) records", progress: { records.count }, everyMilliseconds: 0) {
            records += try poll(maxRecords: 100, timeoutMilliseconds: 100).map(ReadRecord.init)
            return records.count >= count
        }
        return records
    }

    /// Polls for a time and gives copies of what came.
    public func readFor(milliseconds: Int) throws -> [ReadRecord] {
        var records: [ReadRecord] = []
        let deadline = Date().addingTimeInterval(Double(milliseconds) / 1_000)
        while Date() < deadline {
            records += try poll(maxRecords: 100, timeoutMilliseconds: 50).map(ReadRecord.init)
        }
        return records
    }
}

/// The limit of calls that need one: no machine is so slow.
public let patientMilliseconds = 3_600_000

/// The calls without a limit of their own take the tests' instead of the library's.
extension Admin {
    /// Makes a topic.
    public func createTopic(_ topic: NewTopic) throws {
        try createTopic(topic, timeoutMilliseconds: patientMilliseconds)
    }

    /// Deletes a topic.
    public func deleteTopic(_ name: String) throws { try deleteTopic(name, timeoutMilliseconds: patientMilliseconds) }

    /// Lists the brokers and topics.
    public func metadata() throws -> ClusterMetadata { try metadata(timeoutMilliseconds: patientMilliseconds) }

    /// Reads a group's committed offsets.
    public func committedOffsets(group: String) throws -> [TopicPartition: Int64] {
        try committedOffsets(group: group, timeoutMilliseconds: patientMilliseconds)
    }

    /// Reads a partition's first offset and its end.
    public func watermarks(_ partition: TopicPartition) throws -> Watermarks {
        try watermarks(partition, timeoutMilliseconds: patientMilliseconds)
    }
}

extension Producer {
    /// Flushes and stops.
    public func close() throws { try close(timeoutMilliseconds: patientMilliseconds) }
}
