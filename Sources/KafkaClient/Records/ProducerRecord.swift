/// Holds a record to be sent.
public struct ProducerRecord: Hashable, Sendable {
    /// The topic's name.
    public var topic: String
    /// The partition; nil lets the key (or chance) choose.
    public var partition: Int32?
    /// The key's bytes; nil is a null key.
    public var key: [UInt8]?
    /// The value's bytes; nil is a tombstone.
    public var value: [UInt8]?
    /// The headers, in order.
    public var headers: [RecordHeader]
    /// Milliseconds since 1970 UTC; nil means now.
    public var timestampMilliseconds: Int64?

    /// Makes a record.
    public init(
        topic: String, partition: Int32? = nil, key: [UInt8]? = nil, value: [UInt8]?,
        headers: [RecordHeader] = [], timestampMilliseconds: Int64? = nil
    ) {
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
        self.headers = headers
        self.timestampMilliseconds = timestampMilliseconds
    }
}
