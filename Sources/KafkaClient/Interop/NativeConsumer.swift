import CLibrdkafka

/// The library's group consumer, call by call. The caller sees to it that one thread at a time polls or closes.
final class NativeConsumer: @unchecked Sendable {
    let client: NativeClient
    private let queue: OpaquePointer

    init(_ configuration: KafkaConfiguration) throws {
        client = try NativeClient(role: .consumer, configuration: configuration) {
            NativeRebalance.install(on: $0)
            ConnectionWatch.install(on: $0)
        }
        // Errors, logs and statistics are then served where records are: in poll.
        try KafkaError.check(rd_kafka_poll_set_consumer(client.pointer))
        guard let queue = rd_kafka_queue_get_consumer(client.pointer) else {
            throw KafkaError(.creationFailed, "librdkafka gave no consumer queue")
        }
        self.queue = queue
    }

    deinit { rd_kafka_queue_destroy(queue) }

    func subscribe(_ topics: [String]) throws {
        let list = NativePartitionList(topics.map { TopicPartition($0, -1) })
        try KafkaError.check(list.use { rd_kafka_subscribe(client.pointer, $0) })
    }

    /// Reads more partitions, apart from any group.
    func assign(adding offsets: [TopicPartition: Int64]) throws {
        // Before the library may hand out the first record.
        client.callbacks.rebalance.withLock { state in
            state.assigned.formUnion(offsets.keys)
            state.starts.merge(offsets) { $1 }
        }
        let list = NativePartitionList(offsets)
        if let error = list.use({ rd_kafka_incremental_assign(client.pointer, $0) }) {
            throw KafkaError(consuming: error)
        }
    }

    /// Returns the records that are there. Where there are none, waits for the first, and returns it with the records
    /// that came along.
    func poll(recordsMax: Int, timeoutMilliseconds: Int) throws -> (NativeMessages, [ConsumerEvent]) {
        let messages = UnsafeMutablePointer<NativeMessages.Message?>.allocate(capacity: recordsMax)
        var count = consume(messages, recordsMax, 0)
        if count == 0 && timeoutMilliseconds > 0 {
            // The library waits until an array is full, so wait with room for one only.
            count = consume(messages, 1, timeoutMilliseconds)
            if count == 1 && recordsMax > 1 { count += max(0, consume(messages + 1, recordsMax - 1, 0)) }
        }
        var sorted = MessageSorter.sort(messages, count: max(0, count), client: client)
        // The loss comes before the records: records of the next connection stand behind it.
        if client.callbacks.connections.takeLoss() {
            let error = KafkaError(.connectionLost, "the connection to a broker was lost", isRetriable: true)
            sorted.errors.insert(ConsumerEvent(topicPartition: nil, offset: nil, error: error), at: 0)
        }
        if count < 0 { throw KafkaError(rd_kafka_last_error()) }
        if let failure = client.callbacks.rebalance.withLock({ state in state.failure.take() }) { throw failure }
        return sorted
    }

    private func consume(
        _ messages: UnsafeMutablePointer<NativeMessages.Message?>, _ size: Int, _ timeoutMilliseconds: Int
    ) -> Int {
        rd_kafka_consume_batch_queue(queue, milliseconds(timeoutMilliseconds), messages, size)
    }

    /// Makes a waiting poll return early.
    func wake() { rd_kafka_queue_yield(queue) }

    /// Leaves the group while serving callbacks on this thread; false when the time was not enough.
    func close(timeoutMilliseconds: Int) throws -> Bool {
        if rd_kafka_consumer_closed(client.pointer) != 0 { return true }
        try KafkaError.check(rd_kafka_consumer_close_queue(client.pointer, queue))
        let deadline = ContinuousClock.now + .milliseconds(max(0, timeoutMilliseconds))
        let room = 64
        while rd_kafka_consumer_closed(client.pointer) == 0 {
            if ContinuousClock.now >= deadline { return false }
            let messages = UnsafeMutablePointer<NativeMessages.Message?>.allocate(capacity: room)
            _ = MessageSorter.sort(messages, count: max(0, consume(messages, room, 20)), client: client)
        }
        return true
    }

    func pause(_ partitions: [TopicPartition]) throws {
        let list = NativePartitionList(partitions)
        try KafkaError.check(list.use { rd_kafka_pause_partitions(client.pointer, $0) })
        client.callbacks.rebalance.withLock { $0.paused.formUnion(partitions) }
        try list.throwFirstError()
    }

    func resume(_ partitions: [TopicPartition]) throws {
        let list = NativePartitionList(partitions)
        try KafkaError.check(list.use { rd_kafka_resume_partitions(client.pointer, $0) })
        client.callbacks.rebalance.withLock { $0.paused.subtract(partitions) }
        try list.throwFirstError()
    }

    func seek(_ partition: TopicPartition, to offset: Int64, timeoutMilliseconds: Int) throws {
        let deadline = ContinuousClock.now + .milliseconds(max(0, timeoutMilliseconds))
        while true {
            do {
                try seekOnce(partition, to: offset, timeoutMilliseconds: timeoutMilliseconds)
                break
            } catch let error as KafkaError where error.code == .wrongState {
                // After an error of the kind "out of range" the library has stopped the partition and cannot seek it.
                guard try assignment().contains(partition) else { throw error }
                return try restart(partition, at: offset)
            } catch let error as KafkaError where Self.passes(error.code) && ContinuousClock.now < deadline {
                continue
            }
        }
        client.callbacks.rebalance.withLock { $0.starts[partition] = offset }
    }

    private func seekOnce(_ partition: TopicPartition, to offset: Int64, timeoutMilliseconds: Int) throws {
        let list = NativePartitionList([partition: offset])
        try KafkaError.check(
            list.use { rd_kafka_seek_partitions(client.pointer, $0, milliseconds(timeoutMilliseconds)) })
        try list.throwFirstError()
    }

    /// Tells whether a seek that failed with the code may succeed at once. Some versions take the time for microseconds
    /// and give up after a thousandth of it. All versions drop a seek that a pause overtakes, as the library's own
    /// pause at a rebalance does.
    private static func passes(_ code: KafkaError.Code) -> Bool { code == .timedOut || code == .outdated }

    /// Assigns a partition again. An eager group allows that only for all partitions together.
    private func restart(_ partition: TopicPartition, at offset: Int64) throws {
        var offsets = [partition: offset]
        if rebalanceProtocol == "COOPERATIVE" {
            let list = NativePartitionList(offsets)
            try KafkaError.check(list.use { rd_kafka_incremental_unassign(client.pointer, $0) })
            try KafkaError.check(list.use { rd_kafka_incremental_assign(client.pointer, $0) })
        } else {
            let all = try assignment()
            let positions = try position(all)
            let starts = client.callbacks.rebalance.withLock { $0.starts }
            for item in all where item != partition {
                offsets[item] = positions[item] ?? starts[item] ?? Int64(RD_KAFKA_OFFSET_INVALID)
            }
            try KafkaError.check(NativePartitionList(offsets).use { rd_kafka_assign(client.pointer, $0) })
        }
        // The library has no position of any of them before its next record.
        client.callbacks.rebalance.withLock { $0.starts.merge(offsets) { $1 } }
        // A new assignment is not paused.
        let paused = client.callbacks.rebalance.withLock { $0.paused }
        if !paused.isEmpty { try pause(Array(paused)) }
    }

    func commit(_ offsets: [TopicPartition: Int64]) throws {
        try KafkaError.check(NativePartitionList(offsets).use { rd_kafka_commit(client.pointer, $0, 1) })
    }

    /// Commits and waits for the broker's answer. The library's own waiting call may take its socket's whole timeout.
    func commit(_ offsets: [TopicPartition: Int64], timeoutMilliseconds: Int) throws {
        let answers = rd_kafka_queue_new(client.pointer)
        defer { rd_kafka_queue_destroy(answers) }
        try KafkaError.check(
            NativePartitionList(offsets).use { rd_kafka_commit_queue(client.pointer, $0, answers, nil, nil) })
        guard let event = rd_kafka_queue_poll(answers, milliseconds(timeoutMilliseconds)) else {
            throw KafkaError(.timedOut, "the broker did not answer a commit within \(timeoutMilliseconds) ms")
        }
        defer { rd_kafka_event_destroy(event) }
        try NativePartitionList.throwFirstError(of: rd_kafka_event_topic_partition_list(event))
        try KafkaError.check(rd_kafka_event_error(event))
    }

    func committed(_ partitions: [TopicPartition], timeoutMilliseconds: Int) throws -> [TopicPartition: Int64] {
        let list = NativePartitionList(partitions)
        try KafkaError.check(list.use { rd_kafka_committed(client.pointer, $0, milliseconds(timeoutMilliseconds)) })
        try list.throwFirstError()
        return list.validOffsets
    }

    func position(_ partitions: [TopicPartition]) throws -> [TopicPartition: Int64] {
        let list = NativePartitionList(partitions)
        try KafkaError.check(list.use { rd_kafka_position(client.pointer, $0) })
        return list.validOffsets
    }

    func cachedWatermarks(_ partition: TopicPartition) -> Watermarks? {
        var low: Int64 = -1
        var high: Int64 = -1
        let result = rd_kafka_get_watermark_offsets(
            client.pointer, partition.topic, partition.partition, &low, &high)
        guard result == RD_KAFKA_RESP_ERR_NO_ERROR, high >= 0 else { return nil }
        return Watermarks(low: max(0, low), high: high)
    }

    func assignment() throws -> [TopicPartition] {
        var list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
        try KafkaError.check(rd_kafka_assignment(client.pointer, &list))
        return list.map { NativePartitionList(consuming: $0).partitions } ?? []
    }

    var memberID: String? {
        guard let text = rd_kafka_memberid(client.pointer) else { return nil }
        defer { rd_kafka_mem_free(client.pointer, text) }
        let name = String(cString: text)
        return name.isEmpty ? nil : name
    }

    var rebalanceProtocol: String { NativeRebalance.protocolName(client.pointer) }
}
