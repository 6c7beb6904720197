/// A position in each of several stores, as in `0=12,3=80`: a token of the history, or a place in the order of a fetch.
package struct StorePositions: Sendable, Equatable, CustomStringConvertible {
    private var positions: [Int32: String] = [:]

    package init() {}

    /// Reads positions; nil where the text is none.
    package init?(_ text: some StringProtocol) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1)
            guard sides.count == 2, let store = Int32(sides[0]), store >= 0, positions[store] == nil else { return nil }
            positions[store] = String(sides[1])
        }
    }

    /// The position in the store of a partition; nil where none is known.
    package subscript(partition: Int32) -> String? {
        get { positions[partition] }
        set { positions[partition] = newValue }
    }

    package var description: String {
        positions.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
    }
}
