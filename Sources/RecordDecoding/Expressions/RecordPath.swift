/// A path into a record: keys and array indexes, compiled once.
///
/// Dots separate keys: `content.body`. A key with other characters stands in quotes: `content."m.relates_to".event_id`.
/// An index stands in brackets and counts from 0: `blocks[0].text`.
struct RecordPath: Sendable, Equatable {
    enum Step: Sendable, Equatable {
        case key([UInt8])
        case index(Int)
    }

    let steps: [Step]
    /// The path as it was written.
    let text: String

    static let root = RecordPath(keys: [])

    init(keys: [String]) {
        steps = keys.map { .key(Array($0.utf8)) }
        text = keys.joined(separator: ".")
    }

    /// Reads a path.
    ///
    /// - Throws: ``ExpressionError`` where a quote is not closed.
    init(_ text: String) throws(ExpressionError) {
        self.text = text
        var steps: [Step] = []
        let bytes = Array(text.utf8)
        var position = 0
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: ".") {
                position += 1
            } else if bytes[position] == UInt8(ascii: "\"") {
                guard let end = bytes[(position + 1)...].firstIndex(of: UInt8(ascii: "\"")) else {
                    throw ExpressionError("'\(text)' has a quote that is not closed")
                }
                steps.append(.key(Array(bytes[(position + 1)..<end])))
                position = end + 1
            } else if let (index, end) = Self.index(in: bytes, at: position) {
                steps.append(.index(index))
                position = end
            } else {
                var end = position + 1
                while end < bytes.count, bytes[end] != UInt8(ascii: "."), Self.index(in: bytes, at: end) == nil {
                    end += 1
                }
                steps.append(.key(Array(bytes[position..<end])))
                position = end
            }
        }
        self.steps = steps
    }

    /// Reads `[12]`; digits alone are an index, so that brackets in a key mean nothing else.
    private static func index(in bytes: [UInt8], at start: Int) -> (index: Int, end: Int)? {
        guard bytes[start] == UInt8(ascii: "["), let close = bytes[start...].firstIndex(of: UInt8(ascii: "]")) else {
            return nil
        }
        let digits = bytes[(start + 1)..<close]
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self)).map { ($0, close + 1) }
    }

    var isEmpty: Bool { steps.isEmpty }

    /// The first key.
    var firstKey: String? {
        guard case .key(let bytes)? = steps.first else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The key of a path that is no more than one.
    var onlyKey: String? { steps.count == 1 ? firstKey : nil }

    /// The rest of a path that begins with another, or nil.
    func relative(to other: RecordPath) -> RecordPath? {
        guard steps.count > other.steps.count, steps.starts(with: other.steps) else { return nil }
        return RecordPath(steps: Array(steps.dropFirst(other.steps.count)), text: text)
    }

    private init(steps: [Step], text: String) {
        self.steps = steps
        self.text = text
    }
}

extension JSONValue {
    /// Follows a path; nil where a step is missing. A path that meets null is null: an object that is not there has no
    /// members.
    ///
    /// - Parameter values: tells which texts stand for null.
    func member(at path: RecordPath, nulls values: ValueDecoding = ValueDecoding()) -> JSONValue? {
        var value = self
        for step in path.steps {
            if values.isNull(value) { return value }
            switch step {
            case .key(let bytes):
                guard let next = bytes.withUnsafeBufferPointer({ value.member(utf8: $0) }) else { return nil }
                value = next
            case .index(let index):
                guard index < value.count, let next = value.elements.dropFirst(index).first(where: { _ in true }) else {
                    return nil
                }
                value = next
            }
        }
        return value
    }
}
