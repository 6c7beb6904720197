import GraphCore

/// A dictionary from names that also finds them by their UTF-8 bytes, without making a string of those.
struct NameTable<Element> {
    /// Copies of the table share it: a copy counts one reference, and each record makes some.
    private var names = Names(Content())

    init(_ elements: [String: Element] = [:]) {
        var content = Content()
        for (name, element) in elements { content.set(name, element) }
        names = Names(content)
    }

    var count: Int { names.content.entries.count }

    /// The names with their elements, sorted by name.
    var sorted: [(name: String, element: Element)] {
        names.content.entries.map { ($0.name, $0.element) }.sorted { $0.name < $1.name }
    }

    /// Setting copies the table; setting nil changes nothing.
    subscript(name: String) -> Element? {
        get { names.content[name] }
        set {
            guard let newValue else { return }
            var content = names.content
            content.set(name, newValue)
            names = Names(content)
        }
    }

    subscript(utf8 bytes: UnsafeBufferPointer<UInt8>) -> Element? { names.content[utf8: bytes] }

    /// A table that never changes needs no checks of accesses, which would take longer than the accesses.
    private final class Names {
        let content: Content

        init(_ content: Content) { self.content = content }
    }

    private struct Content {
        var entries: [(name: String, bytes: [UInt8], element: Element)] = []
        /// Names that Unicode holds to be equal are one; this finds them.
        var positions: [String: Int] = [:]
        /// The entries' positions by the hash of their bytes, a power of two of places; -1 is a free one.
        var places: [Int] = [-1]
        /// The length of the longest name, in bytes.
        var longest = 0

        subscript(name: String) -> Element? { positions[name].map { entries[$0].element } }

        subscript(utf8 bytes: UnsafeBufferPointer<UInt8>) -> Element? {
            let raw = UnsafeRawBufferPointer(bytes)
            var place = Self.hash(raw) & (places.count - 1)
            while places[place] >= 0 {
                let position = places[place]
                if entries[position].bytes.withUnsafeBytes({ raw.hasSameBytes(as: $0) }) {
                    return entries[position].element
                }
                place = (place + 1) & (places.count - 1)
            }
            // Another spelling of a name, such as é as one character or as two; it takes at most thrice the bytes. A text
            // of many marks would take more than linear time.
            if bytes.count > longest * 3 || bytes.allSatisfy({ $0 < 0x80 }) { return nil }
            return self[String(decoding: bytes, as: UTF8.self)]
        }

        mutating func set(_ name: String, _ element: Element) {
            if let position = positions[name] {
                entries[position].element = element
            } else {
                positions[name] = entries.count
                entries.append((name, Array(name.utf8), element))
                longest = max(longest, name.utf8.count)
                if entries.count * 2 > places.count { grow() } else { place(entries.count - 1) }
            }
        }

        /// A hash of the length and of up to 24 bytes. Only the model and the routes choose names, and a key that is none
        /// soon meets a free place.
        private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
            var (first, last, middle) = (UInt64(0), UInt64(0), UInt64(0))
            if bytes.count >= 8 {
                first = bytes.loadUnaligned(as: UInt64.self)
                last = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
                middle = bytes.loadUnaligned(fromByteOffset: (bytes.count - 8) / 2, as: UInt64.self)
            } else if bytes.count >= 4 {
                first = UInt64(bytes.loadUnaligned(as: UInt32.self))
                last = UInt64(bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self))
            } else {
                for byte in bytes { first = first << 8 | UInt64(byte) }
            }
            var hash = (first ^ UInt64(bytes.count)) &* 0x9E37_79B9_7F4A_7C15
            hash = (hash ^ last ^ hash >> 29) &* 0xBF58_476D_1CE4_E5B9
            hash = (hash ^ middle ^ hash >> 32) &* 0x94D0_49BB_1331_11EB
            return Int(truncatingIfNeeded: hash >> 33)
        }

        private mutating func grow() {
            places = Array(repeating: -1, count: places.count * 4)
            for position in entries.indices { place(position) }
        }

        private mutating func place(_ position: Int) {
            let hash = entries[position].bytes.withUnsafeBytes { Self.hash($0) }
            var place = hash & (places.count - 1)
            while places[place] >= 0 { place = (place + 1) & (places.count - 1) }
            places[place] = position
        }
    }
}
