/// Decides which records of a row a program is given ahead, while the worker decodes those before them.
///
/// The window moves in halves: so the process of the program finds several records at once, and seldom waits for one.
package struct RecordsAhead {
    /// The number of records that are given ahead at most.
    package static let limit = 32
    private var end = 0

    package init() {}

    /// Returns the indices of the records to give ahead before one is decoded. The one itself is among them where it has not
    /// been given yet.
    ///
    /// - Parameters:
    ///   - index: the index of the record that is decoded next.
    ///   - count: the number of records in the row.
    package mutating func next(at index: Int, of count: Int) -> Range<Int> {
        end = max(end, index)
        if end - index > Self.limit / 2 { return end..<end }
        let start = end
        end = min(index + Self.limit, count)
        return start..<max(start, end)
    }
}
