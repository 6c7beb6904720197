import CLibrdkafka

/// Serves the library's rebalance callback, on the thread that polls.
enum NativeRebalance {
    static func install(on configuration: OpaquePointer) {
        rd_kafka_conf_set_rebalance_cb(configuration) { client, number, partitions, opaque in
            guard let client, let partitions, let callbacks = NativeCallbacks.from(opaque) else { return }
            NativeRebalance.serve(client, number, partitions, callbacks)
        }
        rd_kafka_conf_set_offset_commit_cb(configuration) { _, number, partitions, opaque in
            guard let callbacks = NativeCallbacks.from(opaque) else { return }
            NativeRebalance.reportCommit(number, partitions, callbacks)
        }
    }

    private static func serve(
        _ client: OpaquePointer, _ number: rd_kafka_resp_err_t,
        _ partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>, _ callbacks: NativeCallbacks
    ) {
        let list = NativePartitionList.partitions(of: partitions)
        let isCooperative = protocolName(client) == "COOPERATIVE"
        switch number {
        case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
            let starts = ask(.assigned(list), callbacks)
            assign(client, partitions, starts: starts, isCooperative: isCooperative, callbacks)
        case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
            if !list.isEmpty {
                let isLost = rd_kafka_assignment_lost(client) != 0
                _ = ask(isLost ? .lost(list) : .revoked(list), callbacks)
            }
            unassign(client, partitions, isCooperative: isCooperative, callbacks)
        default:
            callbacks.report(KafkaError(number))
            unassign(client, partitions, isCooperative: false, callbacks)
        }
    }

    /// Asks the handler; nil means that it failed and that nothing may be assigned.
    private static func ask(_ event: RebalanceEvent, _ callbacks: NativeCallbacks) -> [TopicPartition: Int64]? {
        guard let hook = callbacks.rebalance.withLock({ $0.hook }) else { return [:] }
        do {
            return try hook(event)
        } catch {
            callbacks.rebalance.withLock { $0.failure = $0.failure ?? error }
            return nil
        }
    }

    private static func assign(
        _ client: OpaquePointer, _ partitions: NativePartitionList.Pointer, starts: [TopicPartition: Int64]?,
        isCooperative: Bool, _ callbacks: NativeCallbacks
    ) {
        guard let starts else {
            // The library waits for an answer, even if it is "none".
            let none = NativePartitionList(EmptyCollection<TopicPartition>())
            none.use { place($0, [:], client, isCooperative: isCooperative, callbacks) }
            return
        }
        place(partitions, starts, client, isCooperative: isCooperative, callbacks)
    }

    private static func place(
        _ list: NativePartitionList.Pointer, _ starts: [TopicPartition: Int64], _ client: OpaquePointer,
        isCooperative: Bool, _ callbacks: NativeCallbacks
    ) {
        setOffsets(starts, in: list)
        let assigned = NativePartitionList.partitions(of: list)
        // Before the library may hand out the first record.
        callbacks.rebalance.withLock { state in
            if isCooperative { state.assigned.formUnion(assigned) } else { state.assigned = Set(assigned) }
            state.starts.merge(starts) { $1 }
        }
        if isCooperative {
            report(rd_kafka_incremental_assign(client, list), callbacks)
        } else {
            report(rd_kafka_assign(client, list), callbacks)
        }
    }

    private static func unassign(
        _ client: OpaquePointer, _ partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>,
        isCooperative: Bool, _ callbacks: NativeCallbacks
    ) {
        let removed = NativePartitionList.partitions(of: partitions)
        callbacks.rebalance.withLock { state in
            if isCooperative { state.assigned.subtract(removed) } else { state.assigned = [] }
            state.paused.formIntersection(state.assigned)
            state.starts = state.starts.filter { state.assigned.contains($0.key) }
        }
        if isCooperative {
            report(rd_kafka_incremental_unassign(client, partitions), callbacks)
        } else {
            report(rd_kafka_assign(client, nil), callbacks)
        }
    }

    private static func setOffsets(
        _ starts: [TopicPartition: Int64], in list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
    ) {
        for index in 0..<Int(list.pointee.cnt) {
            let element = list.pointee.elems + index
            let partition = TopicPartition(String(cString: element.pointee.topic), element.pointee.partition)
            if let offset = starts[partition] { element.pointee.offset = offset }
        }
    }

    private static func reportCommit(
        _ number: rd_kafka_resp_err_t, _ partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?,
        _ callbacks: NativeCallbacks
    ) {
        do {
            try NativePartitionList.throwFirstError(of: partitions)
            if number != RD_KAFKA_RESP_ERR__NO_OFFSET { try KafkaError.check(number) }
        } catch let error as KafkaError {
            callbacks.report(error)
        } catch {}
    }

    private static func report(_ error: OpaquePointer?, _ callbacks: NativeCallbacks) {
        if let error { callbacks.report(KafkaError(consuming: error)) }
    }

    private static func report(_ number: rd_kafka_resp_err_t, _ callbacks: NativeCallbacks) {
        if number != RD_KAFKA_RESP_ERR_NO_ERROR { callbacks.report(KafkaError(number)) }
    }

    static func protocolName(_ client: OpaquePointer) -> String {
        rd_kafka_rebalance_protocol(client).map { String(cString: $0) } ?? "NONE"
    }
}
