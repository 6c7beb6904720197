import Foundation
import KafkaClient

/// Tells that something awaited did not happen.
public struct WaitLimitReached: Error, CustomStringConvertible {
    /// What was awaited.
    public let description: String
}

/// Calls `condition` until it holds; throws at the limit.
public func wait(
    for what: String, limitSeconds: Double = 45, everyMilliseconds: UInt32 = 5, until condition: () throws -> Bool
) throws {
    let deadline = Date().addingTimeInterval(limitSeconds)
    while try !condition() {
        if Date() > deadline {
            throw WaitLimitReached(description: "gave up waiting for \(what) after \(limitSeconds) s")
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
    public func read(_ count: Int, limitSeconds: Double = 45) throws -> [ReadRecord] {
        var records: [ReadRecord] = []
        try wait(for: "\(count) records (have \(records.count))", limitSeconds: limitSeconds, everyMilliseconds: 0) {
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
