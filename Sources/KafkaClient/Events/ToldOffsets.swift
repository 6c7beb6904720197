/// Tells the offsets that the broker told from the offsets that librdkafka counted up from none.
///
/// A broker that has a batch already answers `DUPLICATE_SEQUENCE_NUMBER`. The base offset of that answer is -1.
/// librdkafka reports the records of such a batch as delivered. It gives them the offsets -1, 0, 1 and so on.
/// Source: `rd_kafka_msgq_set_metadata` in librdkafka's `rdkafka_msg.c`.
struct ToldOffsets {
    private var counted: (place: TopicPartition, offset: Int64)?

    /// Takes the offset of the next delivered record, in the order of the reports.
    ///
    /// - Returns: the record's offset, or -1 where the broker did not tell it.
    mutating func told(_ place: TopicPartition, _ offset: Int64) -> Int64 {
        let isCounted = counted.map { $0.place == place && $0.offset + 1 == offset } ?? false
        counted = offset < 0 || isCounted ? (place, offset) : nil
        return counted == nil ? offset : -1
    }
}
