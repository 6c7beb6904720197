import KafkaClient
import ObjectGraph

@testable import IngestCore
@testable import RecordDecoding

/// A record that owns its bytes.
struct TestRecord {
    var topic = "events"
    var partition: Int32 = 0
    var offset: Int64 = 0
    var key: [UInt8]?
    var value: [UInt8]?
    var headers: [RecordHeader] = []
    var timestampMilliseconds: Int64?

    init(_ json: String?, key: String? = nil, headers: KeyValuePairs<String, String?> = [:], offset: Int64 = 0) {
        self.offset = offset
        self.key = key.map { Array($0.utf8) }
        value = json.map { Array($0.utf8) }
        self.headers = headers.map { RecordHeader($0.key, $0.value.map { Array($0.utf8) }) }
    }

    init(bytes: [UInt8], offset: Int64 = 0) {
        self.offset = offset
        value = bytes
    }

    /// Calls `body` with the record as a source would deliver it.
    func deliver<Result>(_ body: (SourceRecord) throws -> Result) rethrows -> Result {
        try Self.withBytes(key) { key in
            try Self.withBytes(value) { value in
                var record = SourceRecord(
                    place: RecordPlace(topic: topic, partition: partition, offset: offset), key: key, value: value)
                record.headers = headers
                record.timestampMilliseconds = timestampMilliseconds
                return try body(record)
            }
        }
    }

    private static func withBytes<Result>(
        _ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws -> Result
    ) rethrows -> Result {
        guard let bytes else { return try body(nil) }
        return try bytes.withUnsafeBytes { try body($0) }
    }
}

/// A decoder with the model that it decodes for.
struct TestDecoder {
    let model: ObjectModel
    let decoder: EventDecoder

    init(
        _ model: ObjectModel, format: EventFormat = .cloudevents, routes: [RouteConfiguration] = [],
        limits: LimitConfiguration = LimitConfiguration(), nullValues: [String] = [],
        registry: SchemaRegistry? = nil
    ) throws {
        self.model = model
        decoder = try EventDecoder(
            model: model, format: format, routes: routes, place: "topic events", limits: limits, nullValues: nullValues,
            registry: registry)
    }

    func event(_ record: TestRecord) throws -> ChangeSet { try record.deliver { try decoder.decode($0) } }

    /// Decodes a record and shows its operations.
    func shown(_ record: TestRecord) throws -> [String] { model.shown(try event(record)) }

    func shown(_ json: String) throws -> [String] { try shown(TestRecord(json)) }

    /// Decodes a CloudEvent of a type with these properties.
    func shown(_ type: String, _ data: String) throws -> [String] {
        try shown(TestRecord("{\"type\":\"\(type)\",\"data\":\(data)}"))
    }

    /// Returns why a record is no event, or nil where it is one.
    func failure(_ record: TestRecord) -> DecodeError? {
        do {
            _ = try event(record)
            return nil
        } catch {
            return error as? DecodeError
        }
    }

    func failure(_ json: String) -> DecodeError? { failure(TestRecord(json)) }

    func failure(_ type: String, _ data: String) -> DecodeError? {
        failure(TestRecord("{\"type\":\"\(type)\",\"data\":\(data)}"))
    }
}

/// Returns the error of this type that `body` throws, or nil.
func caught<Failure: Error, Result>(_: Failure.Type, _ body: () throws -> Result) -> Failure? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? Failure
    }
}
