import CLibrdkafka

/// The library's administration calls, each made to wait for its result.
final class NativeAdmin: @unchecked Sendable {
    let client: NativeClient

    init(_ configuration: KafkaConfiguration) throws {
        client = try NativeClient(role: .admin, configuration: configuration)
    }

    func createTopic(_ topic: NewTopic, timeoutMilliseconds: Int) throws {
        var text = [CChar](repeating: 0, count: 512)
        guard
            let native = rd_kafka_NewTopic_new(
                topic.name, Int32(clamping: topic.partitions), Int32(clamping: topic.replicationFactor), &text,
                text.count)
        else { throw KafkaError(.invalidArgument, "topic \"\(topic.name)\": \(makeText(text))") }
        defer { rd_kafka_NewTopic_destroy(native) }
        for (name, value) in topic.configuration {
            try KafkaError.check(rd_kafka_NewTopic_set_config(native, name, value))
        }
        var topics: [OpaquePointer?] = [native]
        try request(RD_KAFKA_ADMIN_OP_CREATETOPICS, timeoutMilliseconds) { options, queue in
            rd_kafka_CreateTopics(client.pointer, &topics, topics.count, options, queue)
        } read: { event in
            var count = 0
            try Self.check(
                rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count), count)
        }
    }

    func deleteTopic(_ name: String, timeoutMilliseconds: Int) throws {
        guard let native = rd_kafka_DeleteTopic_new(name) else {
            throw KafkaError(.invalidArgument, "topic \"\(name)\" is no topic's name")
        }
        defer { rd_kafka_DeleteTopic_destroy(native) }
        var topics: [OpaquePointer?] = [native]
        try request(RD_KAFKA_ADMIN_OP_DELETETOPICS, timeoutMilliseconds) { options, queue in
            rd_kafka_DeleteTopics(client.pointer, &topics, topics.count, options, queue)
        } read: { event in
            var count = 0
            try Self.check(
                rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count), count)
        }
    }

    func committedOffsets(
        group: String, partitions: [TopicPartition]?, isStable: Bool, timeoutMilliseconds: Int
    ) throws -> [TopicPartition: Int64] {
        let list = partitions.map { NativePartitionList($0) }
        // The library copies the list.
        let native =
            list.map { $0.use { rd_kafka_ListConsumerGroupOffsets_new(group, $0) } }
            ?? rd_kafka_ListConsumerGroupOffsets_new(group, nil)
        guard let native else {
            throw KafkaError(.invalidArgument, "group \"\(group)\" is no group's name")
        }
        defer { rd_kafka_ListConsumerGroupOffsets_destroy(native) }
        var requests: [OpaquePointer?] = [native]
        return try request(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeoutMilliseconds) { options, queue in
            // It fails of other requests only.
            let error = rd_kafka_AdminOptions_set_require_stable_offsets(options, isStable ? 1 : 0)
            if let error { rd_kafka_error_destroy(error) }
            rd_kafka_ListConsumerGroupOffsets(client.pointer, &requests, requests.count, options, queue)
        } read: { event in
            var count = 0
            let result = rd_kafka_event_ListConsumerGroupOffsets_result(event)
            guard let groups = rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count), count > 0 else {
                return [:]
            }
            if let error = rd_kafka_group_result_error(groups[0]) { throw Self.error(error) }
            let found = rd_kafka_group_result_partitions(groups[0])
            try NativePartitionList.throwFirstError(of: found)
            return NativePartitionList.validOffsets(of: found)
        }
    }

    func metadata(topic: String?, timeoutMilliseconds: Int) throws -> ClusterMetadata {
        var handle: OpaquePointer?
        if let topic {
            handle = rd_kafka_topic_new(client.pointer, topic, nil)
            if handle == nil { throw KafkaError(rd_kafka_last_error()) }
        }
        defer { if let handle { rd_kafka_topic_destroy(handle) } }
        var native: UnsafePointer<rd_kafka_metadata>?
        do {
            try KafkaError.check(
                rd_kafka_metadata(
                    client.pointer, topic == nil ? 1 : 0, handle, &native, milliseconds(timeoutMilliseconds)))
        } catch let error as KafkaError {
            throw client.callbacks.errorLog.explain(error)
        }
        client.callbacks.errorLog.clear()
        guard let native else { throw KafkaError(.timedOut, "the broker gave no metadata") }
        defer { rd_kafka_metadata_destroy(native) }
        // The library has it from the same answer.
        let cluster = rd_kafka_clusterid(client.pointer, 0)
        defer { if let cluster { rd_kafka_mem_free(client.pointer, cluster) } }
        return try Self.read(native.pointee, clusterID: cluster.map { String(cString: $0) })
    }

    private static func read(_ native: rd_kafka_metadata, clusterID: String?) throws -> ClusterMetadata {
        let brokers = UnsafeBufferPointer(start: native.brokers, count: Int(native.broker_cnt)).map {
            ClusterMetadata.Broker(id: $0.id, host: String(cString: $0.host), port: Int($0.port))
        }
        var topics: [String: [ClusterMetadata.Partition]] = [:]
        for topic in UnsafeBufferPointer(start: native.topics, count: Int(native.topic_cnt)) {
            let name = String(cString: topic.topic)
            if topic.err != RD_KAFKA_RESP_ERR_NO_ERROR {
                if native.topic_cnt > 1 { continue }
                throw KafkaError(
                    KafkaError.Code(topic.err), "topic \"\(name)\": \(KafkaError.Code(topic.err).libraryText)")
            }
            topics[name] = UnsafeBufferPointer(start: topic.partitions, count: Int(topic.partition_cnt)).map {
                ClusterMetadata.Partition(number: $0.id, leader: $0.leader < 0 ? nil : $0.leader)
            }
        }
        return ClusterMetadata(brokers: brokers, topics: topics, clusterID: clusterID)
    }

    /// Sends a request with a queue of its own, waits for its result, and reads that.
    func request<Result>(
        _ operation: rd_kafka_admin_op_t, _ timeoutMilliseconds: Int,
        send: (OpaquePointer?, OpaquePointer) -> Void, read: (OpaquePointer) throws -> Result
    ) throws -> Result {
        guard let queue = rd_kafka_queue_new(client.pointer) else {
            throw KafkaError(.creationFailed, "librdkafka gave no queue")
        }
        defer { rd_kafka_queue_destroy(queue) }
        let options = rd_kafka_AdminOptions_new(client.pointer, operation)
        defer { if let options { rd_kafka_AdminOptions_destroy(options) } }
        var text = [CChar](repeating: 0, count: 256)
        // The library refuses a time of under a millisecond.
        rd_kafka_AdminOptions_set_request_timeout(options, max(1, milliseconds(timeoutMilliseconds)), &text, text.count)
        send(options, queue)
        // The library's own time limit comes first; the rest is for its scheduling.
        guard let event = rd_kafka_queue_poll(queue, milliseconds(timeoutMilliseconds + 2_000)) else {
            throw KafkaError(.timedOut, "the broker did not answer in time")
        }
        defer { rd_kafka_event_destroy(event) }
        let code = rd_kafka_event_error(event)
        if code != RD_KAFKA_RESP_ERR_NO_ERROR {
            throw KafkaError(KafkaError.Code(code), rd_kafka_event_error_string(event).map { String(cString: $0) })
        }
        return try read(event)
    }

    private static func check(_ results: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int) throws {
        for index in 0..<count {
            guard let result = results?[index] else { continue }
            let code = rd_kafka_topic_result_error(result)
            if code == RD_KAFKA_RESP_ERR_NO_ERROR { continue }
            let name = rd_kafka_topic_result_name(result).map { String(cString: $0) } ?? ""
            let reason = rd_kafka_topic_result_error_string(result).map { String(cString: $0) } ?? ""
            throw KafkaError(KafkaError.Code(code), "topic \"\(name)\": \(reason)")
        }
    }

    /// Reads an error that belongs to the result.
    static func error(_ borrowed: OpaquePointer) -> KafkaError {
        KafkaError(
            KafkaError.Code(rd_kafka_error_code(borrowed)), rd_kafka_error_string(borrowed).map { String(cString: $0) })
    }
}
