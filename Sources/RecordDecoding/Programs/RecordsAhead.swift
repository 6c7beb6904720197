/// Decides which records of a row a program is given ahead, while the worker decodes those before them.
///
/// The window moves in halves: so the process of the program finds several records at once, and seldom waits for one.
package struct RecordsAhead {
    /// The number of records that are given ahead at most.
    package static let limit = 32
    private var end = 0
    private var refused: Int?

    package init() {}

    /// Gives records ahead before one is decoded. The one itself is among them where it has not been given yet.
    ///
    /// - Parameters:
    ///   - index: the index of the record that is decoded next.
    ///   - count: the number of records in the row.
    ///   - expect: gives the record of an index. Where it returns false, the record waits for its turn, and so do those behind.
    package mutating func give(at index: Int, of count: Int, _ expect: (Int) -> Bool) {
        end = max(end, index)
        if index <= refused ?? -1 || end - index > Self.limit / 2 { return }
        refused = nil
        while end < min(index + Self.limit, count) {
            if !expect(end) {
                refused = end
                return
            }
            end += 1
        }
    }
}
