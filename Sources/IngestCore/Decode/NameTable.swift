import ObjectGraph

/// A dictionary from names that also finds them by their UTF-8 bytes, without making a string of those.
struct NameTable<Element> {
    private var entries: [(name: String, bytes: [UInt8], element: Element)] = []
    /// Names that Unicode holds to be equal are one; this finds them.
    private var positions: [String: Int] = [:]
    /// The entries' positions by the hash of their bytes, a power of two of places; -1 is a free one.
    private var places: [Int] = [-1]

    init(_ elements: [String: Element] = [:]) {
        for (name, element) in elements { self[name] = element }
    }

    var count: Int { entries.count }

    /// The names with their elements, sorted by name.
    var sorted: [(name: String, element: Element)] {
        entries.map { ($0.name, $0.element) }.sorted { $0.name < $1.name }
    }

    /// Setting nil changes nothing.
    subscript(name: String) -> Element? {
        get { positions[name].map { entries[$0].element } }
        set {
            guard let newValue else { return }
            if let position = positions[name] {
                entries[position].element = newValue
            } else {
                positions[name] = entries.count
                entries.append((name, Array(name.utf8), newValue))
                if entries.count * 2 > places.count { grow() } else { place(entries.count - 1) }
            }
        }
    }

    subscript(utf8 bytes: UnsafeBufferPointer<UInt8>) -> Element? {
        let raw = UnsafeRawBufferPointer(bytes)
        var place = ByteHash.hash(raw, seed: 0) & (places.count - 1)
        while places[place] >= 0 {
            let position = places[place]
            if entries[position].bytes.withUnsafeBytes({ raw.hasSameBytes(as: $0) }) {
                return entries[position].element
            }
            place = (place + 1) & (places.count - 1)
        }
        // Another spelling of a name, such as é as one character or as two.
        return bytes.allSatisfy { $0 < 0x80 } ? nil : self[String(decoding: bytes, as: UTF8.self)]
    }

    private mutating func grow() {
        places = Array(repeating: -1, count: places.count * 4)
        for position in entries.indices { place(position) }
    }

    private mutating func place(_ position: Int) {
        let hash = entries[position].bytes.withUnsafeBytes { ByteHash.hash($0, seed: 0) }
        var place = hash & (places.count - 1)
        while places[place] >= 0 { place = (place + 1) & (places.count - 1) }
        places[place] = position
    }
}
