import CLibrdkafka

/// Owns a list of partitions with offsets, as the library takes and fills them.
final class NativePartitionList {
    typealias Pointer = UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    private let pointer: Pointer

    init(_ partitions: some Sequence<TopicPartition>) {
        // Zero is a hint; the library grows the list. It aborts rather than return no list.
        pointer = rd_kafka_topic_partition_list_new(0)
        for item in partitions { rd_kafka_topic_partition_list_add(pointer, item.topic, item.partition) }
    }

    init(_ offsets: [TopicPartition: Int64]) {
        pointer = rd_kafka_topic_partition_list_new(Int32(clamping: offsets.count))
        for (item, offset) in offsets {
            let element = rd_kafka_topic_partition_list_add(pointer, item.topic, item.partition)
            element?.pointee.offset = offset
        }
    }

    /// Takes over a list that the library made.
    init(consuming pointer: Pointer) { self.pointer = pointer }

    deinit { rd_kafka_topic_partition_list_destroy(pointer) }

    /// Shows the list to the library; it is freed after that at the earliest.
    func use<Result>(_ body: (Pointer) throws -> Result) rethrows -> Result {
        try withExtendedLifetime(self) { try body(pointer) }
    }

    var partitions: [TopicPartition] { Self.partitions(of: pointer) }

    /// The offsets that are positions, without the library's markers for "none".
    var validOffsets: [TopicPartition: Int64] { Self.validOffsets(of: pointer) }

    func throwFirstError() throws { try Self.throwFirstError(of: pointer) }

    static func partitions(of list: UnsafePointer<rd_kafka_topic_partition_list_t>?) -> [TopicPartition] {
        elements(of: list).map { TopicPartition(String(cString: $0.topic), $0.partition) }
    }

    static func validOffsets(of list: UnsafePointer<rd_kafka_topic_partition_list_t>?) -> [TopicPartition: Int64] {
        var offsets: [TopicPartition: Int64] = [:]
        for item in elements(of: list) where item.offset >= 0 {
            offsets[TopicPartition(String(cString: item.topic), item.partition)] = item.offset
        }
        return offsets
    }

    static func throwFirstError(of list: UnsafePointer<rd_kafka_topic_partition_list_t>?) throws {
        for item in elements(of: list) where item.err != RD_KAFKA_RESP_ERR_NO_ERROR {
            throw KafkaError(item.err, topicPartition: TopicPartition(String(cString: item.topic), item.partition))
        }
    }

    private static func elements(
        of list: UnsafePointer<rd_kafka_topic_partition_list_t>?
    ) -> UnsafeBufferPointer<rd_kafka_topic_partition_t> {
        guard let list else { return UnsafeBufferPointer(start: nil, count: 0) }
        return UnsafeBufferPointer(start: list.pointee.elems, count: Int(list.pointee.cnt))
    }
}
