/// Writes records in Avro's binary encoding as JSON, by the schema that wrote them.
///
/// | Avro | JSON |
/// |---|---|
/// | record, map | object |
/// | union | the value of its branch |
/// | enum | its symbol |
/// | bytes, fixed | text in base64; a line break follows one that looks like a number |
/// | decimal | text, such as `"-12.30"` |
/// | date, time, timestamp | text in ISO 8601; a timestamp in UTC ends with `Z`, a local one does not |
/// | duration | text in ISO 8601, such as `"P1M2DT3.004S"` |
/// | NaN, infinity | the texts `"NaN"`, `"Infinity"`, `"-Infinity"` |
///
/// Each value writes at least one byte, so that ``AvroLimits/jsonBytes`` bounds the time as well as the memory.
public struct AvroDecoder: Sendable {
    let schema: AvroSchema
    let limits: AvroLimits

    /// Reads the records that were written by `schema`.
    public init(schema: AvroSchema, limits: AvroLimits = AvroLimits()) {
        self.schema = schema
        self.limits = limits
    }

    /// The JSON of a record, which has to fill `bytes`.
    ///
    /// - Throws: ``AvroError``.
    public func json(_ bytes: [UInt8]) throws(AvroError) -> [UInt8] {
        var reader = AvroReader(bytes: bytes)
        let json = try json(&reader)
        guard reader.remaining == 0 else { throw .trailing }
        return json
    }

    func json(_ reader: inout AvroReader) throws(AvroError) -> [UInt8] {
        var writer = AvroJSONWriter(limit: limits.jsonBytes)
        try decode(schema.root, &reader, &writer, depth: 0)
        return writer.bytes
    }

    private func decode(
        _ index: Int, _ reader: inout AvroReader, _ writer: inout AvroJSONWriter, depth: Int
    ) throws(AvroError) {
        guard depth < limits.depth else { throw .limit("depth") }
        let node = schema.nodes[index]
        switch node.kind {
        case .null: try writer.raw("null")
        case .boolean:
            let byte = try reader.byte()
            guard byte < 2 else { throw .invalid("boolean") }
            try writer.raw(byte == 1 ? "true" : "false")
        case .int: try integer(Int64(try reader.int()), node.logical, &writer)
        case .long: try integer(try reader.long(), node.logical, &writer)
        case .float: try number(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try reader.bits(4)))), &writer)
        case .double: try number(Double(bitPattern: try reader.bits(8)), &writer)
        case .string: try writer.text(try reader.text())
        case .bytes: try binary(try reader.take(try reader.length()), node.logical, &writer)
        case .fixed(let size): try binary(try reader.take(size), node.logical, &writer)
        case .enumeration(let symbols):
            let symbol = Int(try reader.int())
            guard symbols.indices.contains(symbol) else { throw .invalid("enum") }
            try writer.text(symbols[symbol])
        case .union(let branches):
            let branch = try reader.long()
            guard branch >= 0, branch < branches.count else { throw .invalid("union") }
            try decode(branches[Int(branch)], &reader, &writer, depth: depth + 1)
        case .array(let type): try blocks(type, isMap: false, &reader, &writer, depth: depth)
        case .map(let type): try blocks(type, isMap: true, &reader, &writer, depth: depth)
        case .record where node.logical == .scaledDecimal:
            let scale = try reader.int()
            guard scale.magnitude <= AvroText.largestScale else { throw .invalid("scale") }
            let bytes = try reader.take(try reader.length())
            try decimal(bytes, scale: Int(scale), &writer, isShort: scale < 0)
        case .record(let fields): try record(fields, &reader, &writer, depth: depth)
        }
    }

    @inline(__always)
    private func record(
        _ fields: [AvroSchema.Field], _ reader: inout AvroReader, _ writer: inout AvroJSONWriter, depth: Int
    ) throws(AvroError) {
        try writer.raw("{")
        for (position, field) in fields.enumerated() {
            if position > 0 { try writer.raw(",") }
            try writer.text(field.name)
            try writer.raw(":")
            try decode(field.type, &reader, &writer, depth: depth + 1)
        }
        try writer.raw("}")
    }

    private func blocks(
        _ type: Int, isMap: Bool, _ reader: inout AvroReader, _ writer: inout AvroJSONWriter, depth: Int
    ) throws(AvroError) {
        try writer.raw(isMap ? "{" : "[")
        var isFirst = true
        while true {
            let count = try reader.long()
            if count == 0 { break }
            // A negative count is followed by the block's size in bytes.
            if count < 0 { _ = try reader.length() }
            var left = count.magnitude
            while left > 0 {
                left -= 1
                if !isFirst { try writer.raw(",") }
                isFirst = false
                if isMap {
                    try writer.text(try reader.text())
                    try writer.raw(":")
                }
                try decode(type, &reader, &writer, depth: depth + 1)
            }
        }
        try writer.raw(isMap ? "}" : "]")
    }

    private func number(_ value: Double, _ writer: inout AvroJSONWriter) throws(AvroError) {
        if value.isNaN { return try writer.text("NaN") }
        if value.isInfinite { return try writer.text(value < 0 ? "-Infinity" : "Infinity") }
        try writer.raw(value.description)
    }

    private func integer(
        _ value: Int64, _ logical: AvroSchema.Logical?, _ writer: inout AvroJSONWriter
    ) throws(AvroError) {
        switch logical {
        case .date: try writer.text(AvroText.date(days: value))
        case .time(let digits): try writer.text(AvroText.time(value, digits: digits))
        case .timestamp(let digits, let isLocal):
            try writer.text(AvroText.timestamp(value, digits: digits) + (isLocal ? "" : "Z"))
        default: try writer.raw(value.description)
        }
    }

    private func binary(
        _ bytes: ArraySlice<UInt8>, _ logical: AvroSchema.Logical?, _ writer: inout AvroJSONWriter
    ) throws(AvroError) {
        switch logical {
        case .decimal(let scale): try decimal(bytes, scale: scale, &writer)
        case .connectDecimal(let scale): try decimal(bytes, scale: scale, &writer, isShort: true)
        case .uuid: try writer.text(AvroText.uuid(bytes))
        case .duration: try writer.text(AvroText.duration(bytes))
        default: try writer.base64(bytes)
        }
    }

    /// - Parameter isShort: whether the zeros at the end of the fraction are left out; otherwise the scale is at least 0.
    private func decimal(
        _ bytes: ArraySlice<UInt8>, scale: Int, _ writer: inout AvroJSONWriter, isShort: Bool = false
    ) throws(AvroError) {
        guard bytes.count <= AvroText.largestDecimalBytes else { throw .limit("decimal") }
        try writer.text(
            isShort ? AvroText.shortDecimal(bytes, scale: scale) : AvroText.decimal(bytes, scale: scale))
    }
}
