/// Matches texts of printable ASCII against the simple ones among regular expressions, without backtracking.
///
/// ``PatternProgram`` knows all expressions and characters; this takes about ten instructions a byte. It knows sets,
/// groups, alternatives and counts, and a `^` and `$` around the whole; it takes no other expression.
///
/// The automaton is Glushkov's. It has a position for each character that the expression states, at most 64. Each
/// position knows the positions that may follow it.
struct TextAutomaton: Sendable {
    /// The positions that take a character, by its byte.
    private var accepting = [UInt64](repeating: 0, count: 128)
    /// The positions that may follow each.
    private var following: [UInt64] = []
    private let expression: Part
    private let isAnchoredAtStart: Bool
    private let isAnchoredAtEnd: Bool

    /// A part of an expression: where a match of it may begin and end, and whether nothing matches it.
    struct Part {
        var first: UInt64 = 0
        var last: UInt64 = 0
        var isEmptyAllowed = true
    }

    /// Compiles an expression; nil where it is not a simple one.
    init?(_ tree: PatternTree) {
        var parts = if case .sequence(let parts) = tree { parts } else { [tree] }
        isAnchoredAtStart = if case .place(.start)? = parts.first { true } else { false }
        if isAnchoredAtStart { parts.removeFirst() }
        isAnchoredAtEnd = if case .place(.end)? = parts.last { true } else { false }
        if isAnchoredAtEnd { parts.removeLast() }
        let rest = PatternTree.sequence(parts)
        guard let count = rest.positionCount, count <= 64 else { return nil }
        var builder = Builder()
        expression = builder.part(rest)
        accepting = builder.accepting
        following = builder.following
    }

    /// Tells whether a text matches. Returns nil where the text has other characters than printable ASCII: such texts
    /// need Unicode's rules.
    func matches(_ text: String) -> Bool? {
        var isFound = expression.isEmptyAllowed && !(isAnchoredAtStart && isAnchoredAtEnd)
        var active: UInt64 = 0
        var begins = true
        var isEmpty = true
        for byte in text.utf8 {
            guard byte >= 0x20, byte < 0x7F else { return nil }
            isEmpty = false
            if isFound { continue }
            var next = begins ? expression.first : 0
            while active != 0 {
                next |= following[active.trailingZeroBitCount]
                active &= active - 1
            }
            active = next & accepting[Int(byte)]
            begins = !isAnchoredAtStart
            isFound = !isAnchoredAtEnd && active & expression.last != 0
        }
        return isFound || active & expression.last != 0 || isEmpty && expression.isEmptyAllowed
    }

    /// Gives each character of an expression its position.
    private struct Builder {
        var accepting = [UInt64](repeating: 0, count: 128)
        var following: [UInt64] = []

        private static let noText = PatternText("", .characters)

        mutating func part(_ tree: PatternTree) -> Part {
            switch tree {
            case .set(let set):
                let bit: UInt64 = 1 << UInt64(following.count)
                following.append(0)
                for byte in 0x20..<0x7F where set.contains(UInt32(byte), in: Self.noText) { accepting[byte] |= bit }
                return Part(first: bit, last: bit, isEmptyAllowed: false)
            case .sequence(let trees):
                return trees.reduce(into: Part()) { whole, tree in append(part(tree), to: &whole) }
            case .alternatives(let trees):
                let parts = trees.map { part($0) }
                return Part(
                    first: parts.reduce(0) { $0 | $1.first }, last: parts.reduce(0) { $0 | $1.last },
                    isEmptyAllowed: parts.contains(where: \.isEmptyAllowed))
            case .repeated(let tree, let least, let most):
                return repeated(tree, least, most)
            case .place, .look: return Part()
            }
        }

        /// Writes the part out as often as it counts; one without an upper limit may begin again where it ends.
        private mutating func repeated(_ tree: PatternTree, _ least: Int, _ most: Int?) -> Part {
            var whole = Part()
            for number in 0..<(most ?? max(least, 1)) {
                var one = part(tree)
                if most == nil, number == max(least, 1) - 1 { follow(one.last, by: one.first) }
                if number >= least { one.isEmptyAllowed = true }
                append(one, to: &whole)
            }
            return whole
        }

        private mutating func append(_ part: Part, to whole: inout Part) {
            follow(whole.last, by: part.first)
            whole.first |= whole.isEmptyAllowed ? part.first : 0
            whole.last = part.last | (part.isEmptyAllowed ? whole.last : 0)
            whole.isEmptyAllowed = whole.isEmptyAllowed && part.isEmptyAllowed
        }

        private mutating func follow(_ last: UInt64, by first: UInt64) {
            for position in following.indices where last >> UInt64(position) & 1 == 1 { following[position] |= first }
        }
    }
}

extension PatternTree {
    /// How many characters the expression states once its counts are written out, up to 1000; nil where it states more
    /// than characters.
    fileprivate var positionCount: Int? {
        switch self {
        case .set: return 1
        case .sequence(let parts), .alternatives(let parts):
            var sum = 0
            for part in parts {
                guard let count = part.positionCount else { return nil }
                sum = min(sum + count, 1000)
            }
            return sum
        case .repeated(let part, let least, let most):
            return part.positionCount.map { min($0 * max(most ?? least, 1), 1000) }
        case .place, .look: return nil
        }
    }
}
