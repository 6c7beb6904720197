import CLibrdkafka
import Synchronization

/// Owns the messages of one poll, records first; frees them at the end. Nothing changes after its creation, except
/// that the library reads headers in place on first use, which the lock covers.
final class NativeMessages: @unchecked Sendable {
    typealias Message = UnsafeMutablePointer<rd_kafka_message_t>

    private let messages: UnsafeMutablePointer<Message?>
    private let topics: [String]
    /// For each record the index of its topic; empty when there is one topic at most.
    private let topicIndexes: [UInt16]
    private let headersLock = Mutex(())
    /// Messages point into the client.
    private let client: NativeClient?
    let count: Int

    init(
        adopting messages: UnsafeMutablePointer<Message?>, count: Int, topics: [String], topicIndexes: [UInt16],
        client: NativeClient?
    ) {
        self.messages = messages
        self.count = count
        self.topics = topics
        self.topicIndexes = topicIndexes
        self.client = client
    }

    deinit {
        for index in 0..<count { rd_kafka_message_destroy(messages[index]) }
        messages.deallocate()
    }

    private func message(_ index: Int) -> Message? {
        precondition(index >= 0 && index < count, "record index out of range")
        return messages[index]
    }

    func topic(_ index: Int) -> String { topicIndexes.isEmpty ? topics[0] : topics[Int(topicIndexes[index])] }
    func partition(_ index: Int) -> Int32 { message(index)?.pointee.partition ?? -1 }
    func offset(_ index: Int) -> Int64 { message(index)?.pointee.offset ?? -1 }

    func timestampMilliseconds(_ index: Int) -> Int64? {
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let value = rd_kafka_message_timestamp(message(index), &kind)
        return kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || value < 0 ? nil : value
    }

    func key(_ index: Int) -> UnsafeRawBufferPointer? {
        guard let message = message(index), let start = message.pointee.key else { return nil }
        return UnsafeRawBufferPointer(start: start, count: message.pointee.key_len)
    }

    func value(_ index: Int) -> UnsafeRawBufferPointer? {
        guard let message = message(index), let start = message.pointee.payload else { return nil }
        return UnsafeRawBufferPointer(start: start, count: message.pointee.len)
    }

    func headers(_ index: Int) -> [RecordHeader] {
        headersLock.withLock { _ in
            var list: OpaquePointer?
            guard rd_kafka_message_headers(message(index), &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list else {
                return []
            }
            return Self.read(list)
        }
    }

    private static func read(_ list: OpaquePointer) -> [RecordHeader] {
        var headers: [RecordHeader] = []
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while rd_kafka_header_get_all(list, headers.count, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR {
            let bytes = value.map { [UInt8](UnsafeRawBufferPointer(start: $0, count: size)) }
            headers.append(RecordHeader(name.map { String(cString: $0) } ?? "", bytes))
        }
        return headers
    }
}

/// Sorts what one poll returned: records of assigned partitions, error events, and records nobody may see any more.
struct MessageSorter {
    private let assigned: Set<TopicPartition>
    private var topics: [String] = []
    private var handles: [OpaquePointer?] = []
    private var topicIndexes: [UInt16] = []
    private var kept = 0
    private var errors: [ConsumerEvent] = []
    private var last: (handle: OpaquePointer?, partition: Int32, isAssigned: Bool, topic: UInt16)?

    init(assigned: Set<TopicPartition>) { self.assigned = assigned }

    /// Takes over the array and its messages.
    static func sort(
        _ messages: UnsafeMutablePointer<NativeMessages.Message?>, count: Int, client: NativeClient
    ) -> (records: NativeMessages, errors: [ConsumerEvent]) {
        var sorter = MessageSorter(assigned: client.callbacks.rebalance.withLock { $0.assigned })
        sorter.topicIndexes.reserveCapacity(count)
        for index in 0..<count {
            guard let message = messages[index] else { continue }
            if sorter.keeps(message, client: client) {
                messages[sorter.kept] = message
                sorter.kept += 1
            } else {
                rd_kafka_message_destroy(message)
            }
        }
        let records = NativeMessages(
            adopting: messages, count: sorter.kept, topics: sorter.topics,
            topicIndexes: sorter.topics.count > 1 ? sorter.topicIndexes : [], client: client)
        return (records, sorter.errors)
    }

    private mutating func keeps(_ message: NativeMessages.Message, client: NativeClient) -> Bool {
        if message.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR {
            let event = Self.event(message, client: client)
            if isForHere(event) { errors.append(event) }
            return false
        }
        // Neighbours are mostly of one partition.
        if let last, last.handle == message.pointee.rkt, last.partition == message.pointee.partition {
            if last.isAssigned { topicIndexes.append(last.topic) }
            return last.isAssigned
        }
        return keepsFirstOfRun(message)
    }

    /// Tells whether this consumer reports the event. The new member reports the events of a partition that it took
    /// over.
    func isForHere(_ event: ConsumerEvent) -> Bool {
        guard let place = event.topicPartition, place.partition >= 0, !event.error.isFatal else { return true }
        return assigned.contains(place)
    }

    private mutating func keepsFirstOfRun(_ message: NativeMessages.Message) -> Bool {
        let index = topicIndex(of: message.pointee.rkt)
        let isAssigned = assigned.contains(TopicPartition(topics[Int(index)], message.pointee.partition))
        last = (message.pointee.rkt, message.pointee.partition, isAssigned, index)
        if isAssigned { topicIndexes.append(index) }
        return isAssigned
    }

    private mutating func topicIndex(of handle: OpaquePointer?) -> UInt16 {
        if let known = handles.firstIndex(of: handle) { return UInt16(clamping: known) }
        handles.append(handle)
        topics.append(Self.name(handle))
        return UInt16(clamping: handles.count - 1)
    }

    private static func name(_ handle: OpaquePointer?) -> String {
        handle.flatMap { rd_kafka_topic_name($0) }.map { String(cString: $0) } ?? ""
    }

    private static func event(_ message: NativeMessages.Message, client: NativeClient) -> ConsumerEvent {
        let content = message.pointee
        let place = content.rkt.map { TopicPartition(name($0), content.partition) }
        let described = NativeClient.describe(content.err, rd_kafka_message_errstr(message), client: client.pointer)
        let error = KafkaError(
            described.code, described.message, topicPartition: place, isRetriable: described.isRetriable,
            isFatal: described.isFatal)
        return ConsumerEvent(topicPartition: place, offset: content.offset >= 0 ? content.offset : nil, error: error)
    }
}
