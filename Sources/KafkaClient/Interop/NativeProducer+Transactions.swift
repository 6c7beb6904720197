import CLibrdkafka

extension NativeProducer {
    func initTransactions(timeoutMilliseconds: Int) throws {
        try KafkaError.check(rd_kafka_init_transactions(client.pointer, milliseconds(timeoutMilliseconds)))
    }

    func beginTransaction() throws { try KafkaError.check(rd_kafka_begin_transaction(client.pointer)) }

    func sendOffsets(_ offsets: [TopicPartition: Int64], group: String, timeoutMilliseconds: Int) throws {
        guard let metadata = rd_kafka_consumer_group_metadata_new(group) else {
            throw KafkaError(.invalidArgument, "group \"\(group)\" is no group's name")
        }
        defer { rd_kafka_consumer_group_metadata_destroy(metadata) }
        let list = NativePartitionList(offsets)
        try KafkaError.check(
            list.use { list -> OpaquePointer? in
                rd_kafka_send_offsets_to_transaction(
                    client.pointer, list, metadata, milliseconds(timeoutMilliseconds))
            })
    }

    func commitTransaction(timeoutMilliseconds: Int) throws {
        try KafkaError.check(rd_kafka_commit_transaction(client.pointer, milliseconds(timeoutMilliseconds)))
    }

    func abortTransaction(timeoutMilliseconds: Int) throws {
        try KafkaError.check(rd_kafka_abort_transaction(client.pointer, milliseconds(timeoutMilliseconds)))
    }
}
