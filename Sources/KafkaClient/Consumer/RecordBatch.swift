/// Owns the records of one poll without a copy, in the order of each partition, and frees them at the end.
///
/// The bytes that a record shows belong to the batch: keep the batch (or a record) while using them. A batch may
/// outlive its consumer, and be read from several threads.
public final class RecordBatch: Sendable, RandomAccessCollection {
    /// The events that came with the records: partition ends, offsets out of range, unknown topics.
    public let errors: [ConsumerEvent]
    private let messages: NativeMessages

    init(messages: NativeMessages, errors: [ConsumerEvent]) {
        self.messages = messages
        self.errors = errors
    }

    /// Makes a batch of records in memory, which it copies.
    package init(_ records: [(record: ProducerRecord, offset: Int64)], errors: [ConsumerEvent] = []) {
        messages = NativeMessages(records)
        self.errors = errors
    }

    /// The first index: 0.
    public var startIndex: Int { 0 }
    /// The number of records.
    public var endIndex: Int { messages.count }

    /// Shows the record at an index from 0 to `count` - 1.
    public subscript(index: Int) -> ConsumedRecord {
        precondition(index >= 0 && index < messages.count, "record index out of range")
        return ConsumedRecord(messages: messages, index: index)
    }
}

/// Shows one record of a batch, which it keeps alive.
public struct ConsumedRecord: Sendable {
    let messages: NativeMessages
    let index: Int

    /// The topic's name; shared by all records of the batch.
    public var topic: String { messages.topic(index) }
    /// The partition's number.
    public var partition: Int32 { messages.partition(index) }
    /// The record's offset.
    public var offset: Int64 { messages.offset(index) }
    /// The topic and the partition.
    public var topicPartition: TopicPartition { TopicPartition(topic, partition) }
    /// Milliseconds since 1970 UTC, of creation or of append as the topic says; nil when the record has none.
    public var timestampMilliseconds: Int64? { messages.timestampMilliseconds(index) }
    /// The key's bytes, nil when it is null. Valid while the batch is.
    public var key: UnsafeRawBufferPointer? { messages.key(index) }
    /// The value's bytes, nil when it is null (a tombstone). Valid while the batch is.
    public var value: UnsafeRawBufferPointer? { messages.value(index) }
    /// The headers in their order, copied on each call; a name can occur more than once.
    public var headers: [RecordHeader] { messages.headers(index) }
}
