import GraphCore

/// The texts that records named lately: the same bytes give the same text again, which then takes no memory of its own.
///
/// Most references lead to few objects. Each text has one place, by its hash, and the next one with that place takes it.
final class TextCache {
    private static let count = 4096
    /// Shorter texts need no memory of their own, and few longer ones are references.
    private static let lengths = 16...128

    private let texts = UnsafeMutablePointer<String>.allocate(capacity: count)

    init() { texts.initialize(repeating: "", count: Self.count) }

    deinit {
        texts.deinitialize(count: Self.count)
        texts.deallocate()
    }

    /// Returns the text of UTF-8 bytes; of bytes that are no UTF-8 the repaired one.
    func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        guard Self.lengths.contains(bytes.count) else { return JSONValue.text(bytes) }
        let raw = UnsafeRawBufferPointer(bytes)
        let place = ByteHash.hash(raw, seed: 0) & (Self.count - 1)
        let isKnown = texts[place].utf8.withContiguousStorageIfAvailable {
            UnsafeRawBufferPointer($0).hasSameBytes(as: raw)
        }
        if isKnown != true { texts[place] = JSONValue.text(bytes) }
        return texts[place]
    }
}
