import CZlib

/// Decompresses a gzip file of one or several members. All of zlib stays in this file.
final class GzipByteSource: ByteSource {
    private static let inputBytes = 64 << 10

    private let file: FileByteSource
    private let stream: UnsafeMutablePointer<z_stream>
    private let input: UnsafeMutablePointer<UInt8>
    private var isInputAtEnd = false
    private var isBetweenMembers = false
    private var hasPadding = false
    private var failure: RecordFileError?

    /// Whether a gzip file begins with these bytes.
    static func recognizes(_ bytes: [UInt8]) -> Bool { bytes.count >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B }

    init(file: FileByteSource) throws(RecordFileError) {
        self.file = file
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        input = .allocate(capacity: Self.inputBytes)
        // 15 bits of window; 16 more ask for the gzip wrapping.
        let status = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { throw RecordFileError(.memory, path: file.path) }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        input.deallocate()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(RecordFileError) -> Int {
        if let failure { throw failure }
        guard let base = buffer.baseAddress, !buffer.isEmpty else { return 0 }
        while true {
            try refill()
            if isBetweenMembers {
                if try !startMember() { return 0 }
                continue
            }
            let room = min(buffer.count, Int(UInt32.max))
            stream.pointee.next_out = base.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(room)
            let status = inflate(stream, Z_NO_FLUSH)
            let produced = room - Int(stream.pointee.avail_out)
            switch status {
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END: isBetweenMembers = true
            default:
                // The bytes before the damage are delivered first; the next call throws.
                let error = fail(status == Z_MEM_ERROR ? .memory : .gzipCorrupt)
                if produced == 0 { throw error }
            }
            if produced > 0 { return produced }
            // Not before: zlib may hold bytes that had no room, though it has taken all of the file.
            if status == Z_BUF_ERROR && isInputAtEnd { throw fail(.gzipTruncated) }
        }
    }

    private func refill() throws(RecordFileError) {
        guard stream.pointee.avail_in == 0, !isInputAtEnd else { return }
        let count = try file.read(into: UnsafeMutableRawBufferPointer(start: input, count: Self.inputBytes))
        isInputAtEnd = count == 0
        stream.pointee.next_in = input
        stream.pointee.avail_in = UInt32(count)
    }

    /// Skips zero bytes after a member, as gzip does; returns false at the end of the file.
    private func startMember() throws(RecordFileError) -> Bool {
        while stream.pointee.avail_in > 0, let next = stream.pointee.next_in {
            if next.pointee != 0 {
                guard !hasPadding, next.pointee == 0x1F, inflateReset(stream) == Z_OK else { throw fail(.gzipTrailing) }
                isBetweenMembers = false
                return true
            }
            hasPadding = true
            stream.pointee.next_in = next + 1
            stream.pointee.avail_in -= 1
        }
        return !isInputAtEnd
    }

    private func fail(_ kind: RecordFileError.Kind) -> RecordFileError {
        let offset = file.bytesRead - Int(stream.pointee.avail_in)
        let error = RecordFileError(kind, path: file.path, byteOffset: offset)
        failure = error
        return error
    }
}
