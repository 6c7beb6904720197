/// Many changes of one kind to objects of one entity, in one row of the history.
///
/// A batch request writes ranges, and so does a save with many changes that are alike.
/// Without a list the objects are all primary keys from `first` to `last`. A range holds no identities. A reader finds
/// the identity of an object in the entity's table. The identity of a deleted object is in the history of its deletion,
/// which is newer than the range and so is purged later.
package struct HistoryRange: Equatable {
    /// The maximum number of objects in a range, so that a reader can expand any range in memory.
    package static let maximumCount = 8192

    package let first: Int64
    package let last: Int64
    package let count: Int64
    /// The primary keys as a JSON list in their order, or nil for all from `first` to `last`.
    package let objects: String?
    package let kind: ChangeKind
    package let properties: String?

    /// Makes the range of primary keys that have no gap.
    package init(first: Int64, last: Int64, kind: ChangeKind, properties: String?) {
        self.first = first
        self.last = last
        count = last - first + 1
        objects = nil
        self.kind = kind
        self.properties = properties
    }

    /// Makes the range of a list, or of all from `first` to `last` without one.
    package init(first: Int64, last: Int64, count: Int64, objects: String?, kind: ChangeKind, properties: String?) {
        self.first = first
        self.last = last
        self.count = count
        self.objects = objects
        self.kind = kind
        self.properties = properties
    }

    /// Makes the range of sorted primary keys; nil of none.
    package init?(keys: ArraySlice<Int64>, kind: ChangeKind, properties: String?) {
        guard let first = keys.first, let last = keys.last else { return nil }
        if last - first + 1 == Int64(keys.count) {
            self.init(first: first, last: last, kind: kind, properties: properties)
        } else {
            self.init(
                first: first, last: last, count: Int64(keys.count), objects: Self.list(keys), kind: kind,
                properties: properties)
        }
    }

    /// Makes the ranges of sorted primary keys, however many.
    package static func ranges(of keys: [Int64], kind: ChangeKind, properties: String?) -> [HistoryRange] {
        stride(from: 0, to: keys.count, by: maximumCount).compactMap { start in
            HistoryRange(keys: keys[start..<min(start + maximumCount, keys.count)], kind: kind, properties: properties)
        }
    }

    package static func list(_ keys: ArraySlice<Int64>) -> String {
        var text: [UInt8] = [UInt8(ascii: "[")]
        text.reserveCapacity(keys.count * 8)
        for key in keys {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            // A short text needs no memory of its own.
            text.append(contentsOf: String(key).utf8)
        }
        text.append(UInt8(ascii: "]"))
        return String(decoding: text, as: UTF8.self)
    }

    /// The primary keys in their order.
    package var keys: [Int64] {
        guard let objects else { return Array(first...last) }
        var keys: [Int64] = []
        keys.reserveCapacity(Int(clamping: max(0, min(count, Int64(Self.maximumCount)))))
        for text in objects.utf8.dropFirst().dropLast().split(separator: UInt8(ascii: ",")) {
            if let key = Int64(Substring(text)) { keys.append(key) }
        }
        return keys
    }
}
