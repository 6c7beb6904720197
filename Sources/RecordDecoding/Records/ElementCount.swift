import GraphCore

/// Counts the elements of one record: the objects that it becomes beside its own, and the references in its arrays.
///
/// Each of them may become an object in memory, however few bytes name it.
final class ElementCount {
    private let maximum: Int
    private(set) var count = 0

    init(_ limits: LimitConfiguration) { maximum = limits.maxElements }

    /// Begins with a new record.
    func reset() { count = 0 }

    /// Counts further elements, before any of them is made.
    ///
    /// - Throws: ``DecodeError`` with code `decode.too_many` where the record has more than the limit allows.
    func add(_ number: Int) throws(DecodeError) {
        count += number
        if count <= maximum { return }
        throw DecodeError(
            code: "decode.too_many",
            "The record states \(counted(count, "object")) and references, more than limits.maxElements (\(maximum)). Send it "
                + "in parts, or raise the limit")
    }
}
