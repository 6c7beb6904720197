/// A regular expression, read.
indirect enum PatternTree: Sendable {
    case set(PatternSet)
    case sequence([PatternTree])
    case alternatives([PatternTree])
    /// A part that stands at least and at most so many times; nil for no upper limit.
    case repeated(PatternTree, least: Int, most: Int?)
    case place(Place)
    /// A part that has to match, or may not match, behind or before a place.
    case look(PatternTree, isAhead: Bool, isNegative: Bool)

    /// A condition on a place between characters.
    enum Place: Sendable {
        case start, end, endBeforeLineEnd, lineStart, lineEnd, wordBoundary, noWordBoundary
    }

    static let empty = PatternTree.sequence([])

    /// Whether every match begins at the text's start.
    var isAnchoredAtStart: Bool {
        switch self {
        case .place(.start): true
        case .sequence(let parts): parts.first?.isAnchoredAtStart ?? false
        case .alternatives(let parts): parts.allSatisfy(\.isAnchoredAtStart)
        default: false
        }
    }
}

/// Why a text is no pattern.
struct PatternFault: Error, Equatable {
    /// The reason, and where it helps a remedy.
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
