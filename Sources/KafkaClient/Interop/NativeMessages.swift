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
    /// Records in memory, which stand at the indexes where the library has no message.
    private let inMemory: [RecordInMemory]
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
        inMemory = []
    }

    /// Copies records that no library gave.
    init(_ records: [(record: ProducerRecord, offset: Int64)]) {
        count = records.count
        messages = .allocate(capacity: count)
        messages.initialize(repeating: nil, count: count)
        topics = Set(records.map(\.record.topic)).sorted()
        topicIndexes = records.map { [topics] in UInt16(topics.firstIndex(of: $0.record.topic) ?? 0) }
        client = nil
        inMemory = records.map { RecordInMemory($0, offset: $1) }
    }

    deinit {
        for index in 0..<count where messages[index] != nil { rd_kafka_message_destroy(messages[index]) }
        messages.deallocate()
        for record in inMemory { record.free() }
    }

    private func message(_ index: Int) -> Message? {
        precondition(index >= 0 && index < count, "record index out of range")
        return messages[index]
    }

    func topic(_ index: Int) -> String { topicIndexes.isEmpty ? topics[0] : topics[Int(topicIndexes[index])] }
    func partition(_ index: Int) -> Int32 { message(index)?.pointee.partition ?? inMemory[index].partition }
    func offset(_ index: Int) -> Int64 { message(index)?.pointee.offset ?? inMemory[index].offset }

    func timestampMilliseconds(_ index: Int) -> Int64? {
        guard let message = message(index) else { return inMemory[index].timestampMilliseconds }
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let value = rd_kafka_message_timestamp(message, &kind)
        return kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || value < 0 ? nil : value
    }

    func key(_ index: Int) -> UnsafeRawBufferPointer? {
        guard let message = message(index) else { return inMemory[index].key }
        guard let start = message.pointee.key else { return nil }
        return UnsafeRawBufferPointer(start: start, count: message.pointee.key_len)
    }

    func value(_ index: Int) -> UnsafeRawBufferPointer? {
        guard let message = message(index) else { return inMemory[index].value }
        guard let start = message.pointee.payload else { return nil }
        return UnsafeRawBufferPointer(start: start, count: message.pointee.len)
    }

    func headers(_ index: Int) -> [RecordHeader] {
        guard let message = message(index) else { return inMemory[index].headers }
        return headersLock.withLock { _ in
            var list: OpaquePointer?
            guard rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list else {
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

/// A record that no library gave, with bytes of its own.
private struct RecordInMemory {
    let partition: Int32
    let offset: Int64
    let timestampMilliseconds: Int64?
    let key: UnsafeRawBufferPointer?
    let value: UnsafeRawBufferPointer?
    let headers: [RecordHeader]

    init(_ record: ProducerRecord, offset: Int64) {
        partition = record.partition ?? 0
        self.offset = offset
        timestampMilliseconds = record.timestampMilliseconds
        key = record.key.map(Self.copy)
        value = record.value.map(Self.copy)
        headers = record.headers
    }

    private static func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        copy.copyBytes(from: bytes)
        return UnsafeRawBufferPointer(rebasing: copy[..<bytes.count])
    }

    func free() {
        key?.baseAddress.map { UnsafeRawBufferPointer(start: $0, count: 0).deallocate() }
        value?.baseAddress.map { UnsafeRawBufferPointer(start: $0, count: 0).deallocate() }
    }
}

/// Sorts the messages of one poll: records of assigned partitions, error events, and records nobody may see any more.
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
