import Glibc

extension JSONValue {
    /// The members of an object in the order of the text, duplicates included. Empty for other kinds.
    package struct Members: Sequence, IteratorProtocol {
        let container: JSONValue
        var index: Int
        let end: Int

        /// Returns the next member: the key's UTF-8 bytes, escapes undone, and the value.
        package mutating func next() -> (key: UnsafeBufferPointer<UInt8>, value: JSONValue)? {
            guard index < end else { return nil }
            let key = container.stringBytes(at: index)
            let value = container.value(at: index + 1)
            index = value.nextIndex
            return (key, value)
        }
    }

    /// The elements of an array. Empty for other kinds.
    package struct Elements: Sequence, IteratorProtocol {
        let container: JSONValue
        var index: Int
        let end: Int

        /// Returns the next element.
        package mutating func next() -> JSONValue? {
            guard index < end else { return nil }
            let value = container.value(at: index)
            index = value.nextIndex
            return value
        }
    }

    /// The object's members; `for (key, value) in value.members` may break, return or throw.
    package var members: Members {
        Members(container: self, index: index + 1, end: mark == Mark.objectStart ? nextIndex - 1 : index)
    }

    /// The array's elements; `for element in value.elements` may break, return or throw.
    package var elements: Elements {
        Elements(container: self, index: index + 1, end: mark == Mark.arrayStart ? nextIndex - 1 : index)
    }

    /// The number of members (duplicates included) or elements; 0 for other kinds.
    package var count: Int {
        guard mark == Mark.objectStart || mark == Mark.arrayStart else { return 0 }
        let stored = Int(tape[index] >> 32 & 0xFF_FFFF)
        // The tape's counter stops at its largest value.
        guard stored == 0xFF_FFFF else { return stored }
        var total = 0
        var position = index + 1
        let last = nextIndex - 1
        let keyWords = mark == Mark.objectStart ? 1 : 0
        while position < last {
            total += 1
            position = value(at: position + keyWords).nextIndex
        }
        return total
    }

    /// Returns the object's member of that name. Of duplicate keys the last wins.
    package func member(_ name: StaticString) -> JSONValue? {
        guard name.hasPointerRepresentation else { return member(named: "\(name)") }
        return member(utf8: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// Returns the object's member of that name. Of duplicate keys the last wins.
    package func member(named name: String) -> JSONValue? {
        var name = name
        return name.withUTF8 { member(utf8: $0) }
    }

    /// Returns the object's member whose key is these UTF-8 bytes. Of duplicate keys the last wins.
    package func member(utf8 name: UnsafeBufferPointer<UInt8>) -> JSONValue? {
        var found: JSONValue?
        let name = UnsafeRawBufferPointer(name)
        for (key, value) in members where UnsafeRawBufferPointer(key).hasSameBytes(as: name) { found = value }
        return found
    }
}

extension UnsafeRawBufferPointer {
    /// Tells whether the bytes spell a name.
    func hasSameBytes(as name: StaticString) -> Bool {
        hasSameBytes(as: UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// Tells whether one of the bytes is 0.
    var hasNUL: Bool { baseAddress.map { memchr($0, 0, count) != nil } ?? false }
}
