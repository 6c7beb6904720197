import Glibc

/// A window on a stream of bytes that holds at least the record being scanned.
///
/// It grows with the record up to a limit. Of a record beyond the limit it keeps the first bytes (the head), and drops
/// the rest as soon as that is scanned. So memory stays bounded for every file.
final class ByteWindow {
    /// The bytes of an oversized record that are kept.
    static let headBytes = 64 << 10

    /// The first byte in memory.
    private(set) var base: UnsafeMutablePointer<UInt8>
    /// The index behind the last byte in memory.
    private(set) var end = 0
    /// The index of the first byte not scanned yet; a scanner moves it.
    var cursor = 0
    /// Whether the stream has ended.
    private(set) var isAtEnd = false
    /// The longest record that is kept whole, in bytes.
    let maximumRecordBytes: Int

    private var capacity: Int
    /// The index of the record's first byte.
    private(set) var start = 0
    /// The stream's offset of index 0; of an oversized record this is true behind the head only.
    private var streamOffset = 0
    private var isDropping = false
    private var recordOffsetWhenDropping = 0
    private var lastDropped: UInt8 = 0

    init(capacity: Int, maximumRecordBytes: Int) {
        self.capacity = max(capacity, 1)
        self.maximumRecordBytes = maximumRecordBytes
        base = .allocate(capacity: self.capacity)
    }

    deinit {
        base.deallocate()
    }

    private var headLimit: Int { min(Self.headBytes, maximumRecordBytes) }

    /// Forgets everything before an index, where the next record may start.
    func release(upTo index: Int) {
        start = index
        isDropping = false
    }

    /// Describes the record from `start` to before an index.
    func record(endingAt index: Int, line: Int, fault: RecordFault? = nil) -> ScannedRecord {
        let offset = isDropping ? recordOffsetWhenDropping : streamOffset + start
        let total = streamOffset + index - offset
        return ScannedRecord(
            start: start, availableBytes: total > maximumRecordBytes ? headLimit : total, totalBytes: total,
            byteOffset: offset, line: line, fault: fault)
    }

    /// The byte before an index, even where it was dropped.
    func byte(before index: Int) -> UInt8 {
        isDropping && index == headLimit ? lastDropped : base[index - 1]
    }

    /// Returns the index of the next such byte from the cursor on.
    func index(of byte: UInt8) -> Int? {
        guard cursor < end, let found = memchr(base + cursor, Int32(byte), end - cursor) else { return nil }
        return found.assumingMemoryBound(to: UInt8.self) - UnsafeMutablePointer(base)
    }

    /// Reads more. All bytes have to be scanned (`cursor == end`), unless the record is within the limit.
    func fill(from source: any ByteSource) throws(RecordFileError) {
        if start > 0 && !isDropping { moveToFront() }
        if end == capacity { makeRoom() }
        let room = UnsafeMutableRawBufferPointer(start: base + end, count: capacity - end)
        let count = try source.read(into: room)
        isAtEnd = count == 0
        end += count
    }

    private func moveToFront() {
        memmove(base, base + start, end - start)
        cursor -= start
        end -= start
        streamOffset += start
        start = 0
    }

    private func makeRoom() {
        // Two more bytes: the line end does not count as part of the record.
        let largest = maximumRecordBytes + 2
        if !isDropping && capacity < largest {
            grow(to: min(capacity * 2, largest))
            return
        }
        if !isDropping {
            // The record fills the memory from its front on: `fill` has just moved it there.
            isDropping = true
            recordOffsetWhenDropping = streamOffset
        }
        lastDropped = base[end - 1]
        streamOffset += end - headLimit
        end = headLimit
        cursor = headLimit
    }

    private func grow(to newCapacity: Int) {
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: newCapacity)
        larger.update(from: base, count: end)
        base.deallocate()
        base = larger
        capacity = newCapacity
    }
}
