/// The bytes of an open chunk's records, in pieces of memory of one size that are used again for the next chunk.
///
/// One array for all would be copied each time that it grows, and would hold up to twice what it needs.
struct RecordBytes {
    /// Where a record's key and value stand, one behind the other. A record has less than 2 GiB.
    struct Place {
        fileprivate let piece: Int32
        fileprivate let start: Int32
        /// The lengths in bytes; negative for null.
        fileprivate let keyBytes: Int32
        fileprivate let valueBytes: Int32

        fileprivate var key: Range<Int>? { keyBytes < 0 ? nil : Int(start)..<Int(start + keyBytes) }
        fileprivate var value: Range<Int>? {
            valueBytes < 0 ? nil : content.upperBound - Int(valueBytes)..<content.upperBound
        }
        fileprivate var content: Range<Int> { Int(start)..<Int(start + max(0, keyBytes) + max(0, valueBytes)) }
    }

    private static let pieceBytes = 256 << 10
    /// How many pieces stay for the next chunk: 8 MiB. One oversized record must not hold its memory permanently.
    private static let keptPieces = 32

    private var pieces: [[UInt8]] = []
    /// The position of the piece that takes the next record.
    private var current = 0

    /// Copies a record's bytes.
    mutating func append(key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) -> Place {
        let count = (key?.count ?? 0) + (value?.count ?? 0)
        while current < pieces.count, pieces[current].capacity - pieces[current].count < count { current += 1 }
        if current == pieces.count {
            pieces.append([])
            pieces[current].reserveCapacity(max(Self.pieceBytes, count))
        }
        // An empty place stays inside of its piece, even when the piece gets shorter.
        let start = count == 0 ? 0 : pieces[current].count
        if let key { pieces[current].append(contentsOf: key) }
        if let value { pieces[current].append(contentsOf: value) }
        return Place(
            piece: Int32(current), start: Int32(start), keyBytes: Int32(key?.count ?? -1),
            valueBytes: Int32(value?.count ?? -1))
    }

    /// Forgets a record where no other was copied after it.
    mutating func removeIfLast(_ place: Place) {
        if Int(place.piece) == current, place.content.upperBound == pieces[current].count {
            pieces[current].removeLast(place.content.count)
        }
    }

    mutating func removeAll() {
        pieces.removeAll { $0.capacity > 2 * Self.pieceBytes }
        if pieces.count > Self.keptPieces { pieces.removeLast(pieces.count - Self.keptPieces) }
        for piece in pieces.indices { pieces[piece].removeAll(keepingCapacity: true) }
        current = 0
    }

    func key(_ place: Place) -> [UInt8]? { place.key.map { [UInt8](pieces[Int(place.piece)][$0]) } }

    func value(_ place: Place) -> [UInt8]? { place.value.map { [UInt8](pieces[Int(place.piece)][$0]) } }

    /// Calls `body` with the key's bytes and the value's behind them.
    func withContent<Result>(of place: Place, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        pieces[Int(place.piece)].withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[place.content])) }
    }
}
