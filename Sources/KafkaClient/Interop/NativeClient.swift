import CLibrdkafka
import Dispatch

/// Owns one library client. Batches and queues hold it, so that it is destroyed after everything that points into it.
final class NativeClient: @unchecked Sendable {
    let pointer: OpaquePointer
    let callbacks: NativeCallbacks

    init(
        role: ConfigurationRules.Role, configuration: KafkaConfiguration,
        prepare: (OpaquePointer) -> Void = { _ in }
    ) throws {
        let properties = try ConfigurationRules.resolve(
            configuration.properties, role: role, version: NativeLibrary.version)
        let native = try NativeConfiguration.make(properties)
        callbacks = NativeCallbacks(configuration)
        callbacks.install(on: native)
        callbacks.watchCertificates(on: native, properties)
        prepare(native)
        var text = [CChar](repeating: 0, count: 512)
        let kind = role == .consumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER
        guard let pointer = rd_kafka_new(kind, native, &text, text.count) else {
            rd_kafka_conf_destroy(native)
            throw KafkaError(.creationFailed, callbacks.redact(makeText(text)))
        }
        self.pointer = pointer
    }

    deinit {
        // The library joins its threads. Version 2.0.2 never ends that where a topic was deleted and created again
        // under a consumer. So nobody waits longer than the limit below, least of all the end of a process.
        nonisolated(unsafe) let pointer = pointer
        let (callbacks, destroyed) = (callbacks, DispatchSemaphore(value: 0))
        let destroy: @Sendable () -> Void = {
            // Consumers leave their group in close(); here there must be no callback and no wait for the broker.
            rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
            withExtendedLifetime(callbacks) { _ = destroyed.signal() }
        }
        do {
            try DedicatedThread.start(destroy)
            _ = destroyed.wait(timeout: .now() + Self.destructionSeconds)
        } catch {
            destroy()
        }
    }

    private static let destructionSeconds = 3.0

    /// Describes an error event; for a fatal one the library keeps the underlying error apart.
    static func describe(
        _ code: rd_kafka_resp_err_t, _ reason: UnsafePointer<CChar>?, client: OpaquePointer
    ) -> KafkaError {
        if code == RD_KAFKA_RESP_ERR__FATAL, let error = fatalError(of: client) { return error }
        return KafkaError(KafkaError.Code(code), reason.map { String(cString: $0) })
    }

    /// Returns the error that a client cannot recover from, or nil where it met none.
    static func fatalError(of client: OpaquePointer) -> KafkaError? {
        var text = [CChar](repeating: 0, count: 512)
        let code = rd_kafka_fatal_error(client, &text, text.count)
        if code == RD_KAFKA_RESP_ERR_NO_ERROR { return nil }
        return KafkaError(KafkaError.Code(code), makeText(text), isFatal: true)
    }

    func queryWatermarks(_ partition: TopicPartition, timeoutMilliseconds: Int) throws -> Watermarks {
        var low: Int64 = 0
        var high: Int64 = 0
        let result = rd_kafka_query_watermark_offsets(
            pointer, partition.topic, partition.partition, &low, &high, milliseconds(timeoutMilliseconds))
        if result != RD_KAFKA_RESP_ERR_NO_ERROR { throw KafkaError(result, topicPartition: partition) }
        return Watermarks(low: low, high: high)
    }

    func offsets(
        atTimestamps timestamps: [TopicPartition: Int64], timeoutMilliseconds: Int
    ) throws -> [TopicPartition: Int64] {
        let list = NativePartitionList(timestamps)
        try KafkaError.check(list.use { rd_kafka_offsets_for_times(pointer, $0, milliseconds(timeoutMilliseconds)) })
        try list.throwFirstError()
        return list.validOffsets
    }

    func ends(
        of partitions: some Collection<TopicPartition>, timeoutMilliseconds: Int
    ) throws -> [TopicPartition: Int64] {
        // In the place of a timestamp, "end" asks for the end; where nothing is answered it stays, and is no offset.
        let end = Int64(RD_KAFKA_OFFSET_END)
        let list = NativePartitionList(Dictionary(partitions.map { ($0, end) }) { first, _ in first })
        let result = list.use { rd_kafka_offsets_for_times(pointer, $0, milliseconds(timeoutMilliseconds)) }
        // Some of several brokers may have answered.
        let ends = list.validOffsets
        if ends.isEmpty { try KafkaError.check(result) }
        return ends
    }
}

/// Bounds a timeout to what the library takes: never negative, which would mean "for ever".
func milliseconds(_ value: Int) -> Int32 { Int32(clamping: max(0, value)) }
