/// Records in Avro's binary encoding, one behind the other, as a container file has them.
public struct AvroBlock: Sendable {
    private var reader: AvroReader
    /// The number of records that are still to be read.
    public private(set) var remainingCount: Int

    /// Takes the bytes of a number of records.
    public init(_ bytes: [UInt8], count: Int) {
        reader = AvroReader(bytes: bytes)
        remainingCount = count
    }

    /// Returns the next record as JSON, or nil behind the last one.
    ///
    /// - Throws: ``AvroError``; `trailing` where bytes follow the last record.
    public mutating func next(_ decoder: AvroDecoder) throws(AvroError) -> [UInt8]? {
        guard remainingCount > 0 else {
            if reader.remaining > 0 { throw .trailing }
            return nil
        }
        remainingCount -= 1
        return try decoder.json(&reader)
    }
}
