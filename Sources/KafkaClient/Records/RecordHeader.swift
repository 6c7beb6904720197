/// Holds one header of a record.
public struct RecordHeader: Hashable, Sendable {
    /// The header's name.
    public let name: String
    /// The header's bytes; nil when null.
    public let value: [UInt8]?

    /// Makes a header.
    public init(_ name: String, _ value: [UInt8]?) {
        self.name = name
        self.value = value
    }
}
