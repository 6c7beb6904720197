import AvroFormat
import CZlib

/// Turns a container file of Avro into JSON lines, a record a line, by the schema in the file.
final class AvroByteSource: ByteSource {
    /// The bytes that a container file begins with.
    static let magic: [UInt8] = [0x4F, 0x62, 0x6A, 0x01]
    /// The most bytes of a block, compressed or decompressed.
    private static let maximumBlockBytes = 64 << 20
    private static let maximumHeaderBytes = 2 << 20

    /// How the bytes of blocks are compressed.
    private enum Codec: String {
        case null, deflate
    }

    private let path: String
    private let bytes: BufferedBytes
    private let decoder: AvroDecoder
    private let codec: Codec
    /// The mark behind each block.
    private let mark: [UInt8]
    private var block = AvroBlock([], count: 0)
    /// The line that is being delivered, and how much of it was.
    private var line: [UInt8] = []
    private var position = 0
    private var failure: RecordFileError?

    /// Whether a container file begins with these bytes.
    static func recognizes(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

    /// Reads the header.
    ///
    /// - Throws: `RecordFileError` where it is damaged, or names a codec or a schema that cannot be read.
    init(
        _ source: any ByteSource, path: String, maximumRecordBytes: Int, maximumDepth: Int
    ) throws(RecordFileError) {
        self.path = path
        bytes = BufferedBytes(source, path: path)
        _ = try bytes.take(Self.magic.count)
        var metadata: [String: [UInt8]] = [:]
        var byteCount = 0
        while true {
            let count = try bytes.long()
            if count == 0 { break }
            if count < 0 { _ = try bytes.long() }
            for _ in 0..<min(count.magnitude, 10_000) {
                let name = try bytes.take(try bytes.length(atMost: Self.maximumHeaderBytes))
                let value = try bytes.take(try bytes.length(atMost: Self.maximumHeaderBytes))
                byteCount += name.count + value.count
                if byteCount > Self.maximumHeaderBytes { throw bytes.failure(.avroCorrupt) }
                metadata[String(decoding: name, as: UTF8.self)] = value
            }
            if count.magnitude > 10_000 { throw bytes.failure(.avroCorrupt) }
        }
        mark = try bytes.take(16)
        let name = metadata["avro.codec"].map { String(decoding: $0, as: UTF8.self) } ?? Codec.null.rawValue
        guard let codec = Codec(rawValue: name) else { throw RecordFileError(.avroCodec, path: path) }
        self.codec = codec
        var limits = AvroLimits()
        // A record that is too long is cut and becomes a dead letter; one that is far too long ends the reading.
        limits.jsonBytes = maximumRecordBytes * 2
        // One that is too deep becomes a dead letter, too. A union is a level here, and none in JSON.
        limits.depth = min(max(limits.depth, maximumDepth * 2), 1024)
        do throws(AvroError) {
            let schema = try AvroSchema(
                json: String(decoding: metadata["avro.schema"] ?? [], as: UTF8.self), limits: limits)
            decoder = AvroDecoder(schema: schema, limits: limits)
        } catch {
            throw RecordFileError(.avroSchema, path: path, detail: error.reason)
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(RecordFileError) -> Int {
        if let failure { throw failure }
        guard !buffer.isEmpty else { return 0 }
        do throws(RecordFileError) {
            if position == line.count, try !nextLine() { return 0 }
        } catch {
            failure = error
            throw error
        }
        let count = min(buffer.count, line.count - position)
        buffer.copyBytes(from: line[position..<position + count])
        position += count
        return count
    }

    /// Decodes the next record; returns false at the end of the file.
    private func nextLine() throws(RecordFileError) -> Bool {
        while true {
            do throws(AvroError) {
                if let record = try block.next(decoder) {
                    line = record
                    line.append(0x0A)
                    position = 0
                    return true
                }
            } catch {
                throw RecordFileError(
                    .avroCorrupt, path: path, byteOffset: bytes.offset, detail: error.reason)
            }
            if try !nextBlock() { return false }
        }
    }

    private func nextBlock() throws(RecordFileError) -> Bool {
        if try bytes.isAtEnd() { return false }
        let count = try bytes.length(atMost: Int(Int32.max))
        let stored = try bytes.take(try bytes.length(atMost: Self.maximumBlockBytes))
        if try bytes.take(16) != mark { throw bytes.failure(.avroCorrupt) }
        let content = codec == .deflate ? try inflated(stored) : stored
        // Records without bytes say nothing, and a number alone could ask for work without end.
        if count > content.count { throw bytes.failure(.avroCorrupt) }
        block = AvroBlock(content, count: count)
        return true
    }

    /// Decompresses a block, which is the bare stream of deflate.
    private func inflated(_ stored: [UInt8]) throws(RecordFileError) -> [UInt8] {
        var stream = z_stream()
        guard inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw RecordFileError(.memory, path: path)
        }
        defer { inflateEnd(&stream) }
        var result = [UInt8](repeating: 0, count: max(1024, stored.count * 4))
        var filled = 0
        var stored = stored
        while true {
            let status = stored.withUnsafeMutableBufferPointer { input in
                result.withUnsafeMutableBufferPointer { output in
                    let taken = Int(stream.total_in)
                    stream.next_in = input.baseAddress.map { $0 + taken }
                    stream.avail_in = UInt32(input.count - taken)
                    stream.next_out = output.baseAddress.map { $0 + filled }
                    stream.avail_out = UInt32(output.count - filled)
                    return inflate(&stream, Z_NO_FLUSH)
                }
            }
            filled = Int(stream.total_out)
            if status == Z_STREAM_END { return Array(result[..<filled]) }
            guard status == Z_OK || status == Z_BUF_ERROR, filled == result.count,
                result.count < Self.maximumBlockBytes
            else { throw bytes.failure(.avroCorrupt) }
            result.append(contentsOf: repeatElement(0, count: min(result.count, Self.maximumBlockBytes - result.count)))
        }
    }
}

/// The bytes of a source, taken in pieces of any length.
private final class BufferedBytes {
    private let source: any ByteSource
    private let path: String
    private var buffer: [UInt8] = []
    private var position = 0
    /// The number of bytes that were taken.
    private(set) var offset = 0

    init(_ source: any ByteSource, path: String) {
        self.source = source
        self.path = path
    }

    func failure(_ kind: RecordFileError.Kind) -> RecordFileError {
        RecordFileError(kind, path: path, byteOffset: offset)
    }

    /// Reads more; returns false at the end.
    private func refill() throws(RecordFileError) -> Bool {
        var next = [UInt8](repeating: 0, count: 64 << 10)
        // A closure that throws a type of its own cannot be passed here.
        var outcome = Result<Int, RecordFileError>.success(0)
        next.withUnsafeMutableBytes { room in
            do throws(RecordFileError) {
                outcome = .success(try source.read(into: room))
            } catch {
                outcome = .failure(error)
            }
        }
        let count = try outcome.get()
        buffer = Array(next[..<count])
        position = 0
        return count > 0
    }

    func isAtEnd() throws(RecordFileError) -> Bool {
        if position < buffer.count { return false }
        return try !refill()
    }

    func take(_ count: Int) throws(RecordFileError) -> [UInt8] {
        var taken: [UInt8] = []
        while taken.count < count {
            if try isAtEnd() { throw failure(.avroTruncated) }
            let part = min(count - taken.count, buffer.count - position)
            taken += buffer[position..<position + part]
            position += part
            offset += part
        }
        return taken
    }

    /// A number as zigzag in groups of seven bits.
    func long() throws(RecordFileError) -> Int64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let byte = try take(1)[0]
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
        }
        throw failure(.avroCorrupt)
    }

    func length(atMost limit: Int) throws(RecordFileError) -> Int {
        let value = try long()
        guard value >= 0, value <= Int64(limit) else { throw failure(.avroCorrupt) }
        return Int(value)
    }
}
