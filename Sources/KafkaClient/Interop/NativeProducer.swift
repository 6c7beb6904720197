import CLibrdkafka
import Glibc

/// Receives the outcome of one record; called once, on the producer's thread.
final class DeliveryCallback: Sendable {
    let body: @Sendable (Result<DeliveryReport, KafkaError>) -> Void
    init(_ body: @escaping @Sendable (Result<DeliveryReport, KafkaError>) -> Void) { self.body = body }
}

/// The library's producer, call by call. Deliveries come as events, so that only the serving thread sees them.
final class NativeProducer: @unchecked Sendable {
    let client: NativeClient
    private let queue: OpaquePointer
    private let onFailure: @Sendable (KafkaError) -> Void
    private let onDelivery: (@Sendable (TopicPartition, Int64) -> Void)?
    private var offsets = ToldOffsets()

    /// `onDelivery` gets the places of delivered records that were sent without a callback of their own, and `onFailure`
    /// the failures of such records.
    init(
        _ configuration: KafkaConfiguration, onDelivery: (@Sendable (TopicPartition, Int64) -> Void)? = nil,
        onFailure: @escaping @Sendable (KafkaError) -> Void
    ) throws {
        (self.onFailure, self.onDelivery) = (onFailure, onDelivery)
        client = try NativeClient(role: .producer, configuration: configuration) { native in
            rd_kafka_conf_set_events(native, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS)
        }
        guard let queue = rd_kafka_queue_get_main(client.pointer) else {
            throw KafkaError(.creationFailed, "librdkafka gave no event queue")
        }
        self.queue = queue
    }

    deinit { rd_kafka_queue_destroy(queue) }

    /// Serves one event, or waits that long.
    func serve(timeoutMilliseconds: Int) {
        guard let event = rd_kafka_queue_poll(queue, milliseconds(timeoutMilliseconds)) else { return }
        defer { rd_kafka_event_destroy(event) }
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR:
            while let message = rd_kafka_event_message_next(event) { report(message.pointee, message) }
        case RD_KAFKA_EVENT_ERROR:
            let code = rd_kafka_event_error(event)
            let text = rd_kafka_event_error_string(event)
            client.callbacks.report(NativeClient.describe(code, text, client: client.pointer))
        case RD_KAFKA_EVENT_STATS:
            guard let text = rd_kafka_event_stats(event) else { return }
            client.callbacks.onStatistics?(UnsafeRawBufferPointer(start: text, count: strlen(text)))
        default: break
        }
    }

    private func report(_ content: rd_kafka_message_t, _ message: UnsafePointer<rd_kafka_message_t>) {
        let topic = content.rkt.flatMap { rd_kafka_topic_name($0) }.map { String(cString: $0) } ?? ""
        let place = TopicPartition(topic, content.partition)
        let callback = content._private.map { Unmanaged<DeliveryCallback>.fromOpaque($0).takeRetainedValue() }
        if content.err != RD_KAFKA_RESP_ERR_NO_ERROR {
            let error = explain(KafkaError(KafkaError.Code(content.err)), place)
            if let callback { callback.body(.failure(error)) } else { onFailure(error) }
            return
        }
        let offset = offsets.told(place, content.offset)
        if let callback {
            var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
            let timestamp = rd_kafka_message_timestamp(message, &kind)
            let isKnown = kind != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && timestamp >= 0
            callback.body(
                .success(
                    DeliveryReport(
                        topicPartition: place, offset: offset,
                        timestampMilliseconds: isKnown ? timestamp : nil)))
        } else {
            onDelivery?(place, offset)
        }
    }

    /// Hands a copy of the record to the library. The callback is called only if this does not throw.
    func enqueue(_ record: ProducerRecord, callback: DeliveryCallback?) throws {
        let headers = try Self.makeHeaders(record.headers)
        let opaque = callback.map { Unmanaged.passRetained($0) }
        let failure = record.topic.withCString { topic in
            withBytes(record.key) { key in
                withBytes(record.value) { value in
                    produce(record, topic, key, value, headers, opaque?.toOpaque())
                }
            }
        }
        if let failure {
            if let headers { rd_kafka_headers_destroy(headers) }
            opaque?.release()
            throw explain(KafkaError(consuming: failure), TopicPartition(record.topic, record.partition ?? -1))
        }
    }

    /// Adds a record's place to its failure. A producer that met a fatal error purges the records that it holds: then
    /// that error is the cause.
    private func explain(_ error: KafkaError, _ place: TopicPartition) -> KafkaError {
        let isPossiblyCaused = [.fatal, .purgedFromQueue, .purgedInFlight].contains(error.code)
        let cause = isPossiblyCaused ? NativeClient.fatalError(of: client.pointer) ?? error : error
        return KafkaError(
            cause.code, cause.message, topicPartition: place, isRetriable: cause.isRetriable, isFatal: cause.isFatal)
    }

    private func produce(
        _ record: ProducerRecord, _ topic: UnsafePointer<CChar>, _ key: UnsafeRawBufferPointer?,
        _ value: UnsafeRawBufferPointer?, _ headers: OpaquePointer?, _ opaque: UnsafeMutableRawPointer?
    ) -> OpaquePointer? {
        var fields: [rd_kafka_vu_t] = []
        fields.reserveCapacity(8)
        func add(_ kind: rd_kafka_vtype_t, _ fill: (inout rd_kafka_vu_t) -> Void) {
            var field = rd_kafka_vu_t()
            field.vtype = kind
            fill(&field)
            fields.append(field)
        }
        add(RD_KAFKA_VTYPE_TOPIC) { $0.u.cstr = topic }
        add(RD_KAFKA_VTYPE_MSGFLAGS) { $0.u.i = RD_KAFKA_MSG_F_COPY }
        add(RD_KAFKA_VTYPE_KEY) { field in
            field.u.mem.ptr = UnsafeMutableRawPointer(mutating: key?.baseAddress)
            field.u.mem.size = key?.count ?? 0
        }
        add(RD_KAFKA_VTYPE_VALUE) { field in
            field.u.mem.ptr = UnsafeMutableRawPointer(mutating: value?.baseAddress)
            field.u.mem.size = value?.count ?? 0
        }
        add(RD_KAFKA_VTYPE_OPAQUE) { $0.u.ptr = opaque }
        if let partition = record.partition { add(RD_KAFKA_VTYPE_PARTITION) { $0.u.i32 = partition } }
        if let timestamp = record.timestampMilliseconds { add(RD_KAFKA_VTYPE_TIMESTAMP) { $0.u.i64 = timestamp } }
        if let headers { add(RD_KAFKA_VTYPE_HEADERS) { $0.u.headers = headers } }
        return rd_kafka_produceva(client.pointer, fields, fields.count)
    }

    private static func makeHeaders(_ headers: [RecordHeader]) throws -> OpaquePointer? {
        guard !headers.isEmpty, let list = rd_kafka_headers_new(headers.count) else { return nil }
        for header in headers {
            let result = withBytes(header.value) { value in
                rd_kafka_header_add(list, header.name, -1, value?.baseAddress, value?.count ?? 0)
            }
            if result != RD_KAFKA_RESP_ERR_NO_ERROR {
                rd_kafka_headers_destroy(list)
                throw KafkaError(result)
            }
        }
        return list
    }

    /// Waits until every record was delivered or failed and was reported.
    func flush(timeoutMilliseconds: Int) throws {
        try KafkaError.check(rd_kafka_flush(client.pointer, milliseconds(timeoutMilliseconds)))
    }

    /// Fails the records that are not delivered yet and reports each.
    func purgeAndDrain() {
        rd_kafka_purge(client.pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        let roundsMax = 200
        for _ in 0..<roundsMax where rd_kafka_outq_len(client.pointer) > 0 { serve(timeoutMilliseconds: 20) }
    }

    var queuedCount: Int { Int(rd_kafka_outq_len(client.pointer)) }
}

/// Gives bytes to the library; an empty array is not null, so it needs an address.
private func withBytes<Result>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
    guard let bytes else { return body(nil) }
    if bytes.isEmpty {
        return withUnsafeBytes(of: UInt8(0)) { body(UnsafeRawBufferPointer(rebasing: $0[..<0])) }
    }
    return bytes.withUnsafeBytes { body($0) }
}
