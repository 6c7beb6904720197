/// A regular expression as a nondeterministic automaton, whose time is linear in the length of the text.
///
/// The automaton is Thompson's: it is in all states at once that the text so far leads to, and reads each character once.
/// A part that looks ahead is an automaton of its own, which reads the text backwards, before the others. It marks all
/// places where the part begins. One that looks behind reads forwards, and marks the ends.
struct PatternProgram: Sendable {
    /// The greatest number of instructions, for each character of a text may take all of them.
    static let maximumLength = 10_000
    static let tooLong = PatternFault("With its counts written out it has more than \(maximumLength) parts")

    private enum Instruction {
        case set(Int)
        case split(Int, Int)
        case jump(Int)
        case place(PatternTree.Place)
        case look(Int)
        case match
    }

    private struct Look {
        let program: PatternProgram
        let isAhead: Bool
        let isNegative: Bool
    }

    private var instructions: [Instruction] = []
    private var sets: [PatternSet] = []
    private var looks: [Look] = []
    private let isBackwards: Bool
    private let isAnchored: Bool

    /// - Throws: ``PatternFault`` where the program would be too long.
    init(_ tree: PatternTree, isBackwards: Bool = false) throws(PatternFault) {
        self.isBackwards = isBackwards
        isAnchored = !isBackwards && tree.isAnchoredAtStart
        try compile(tree)
        try append(.match)
    }

    // MARK: Compiling

    private mutating func append(_ instruction: Instruction) throws(PatternFault) {
        if instructions.count >= Self.maximumLength { throw Self.tooLong }
        instructions.append(instruction)
    }

    private mutating func compile(_ tree: PatternTree) throws(PatternFault) {
        switch tree {
        case .set(let set):
            sets.append(set)
            try append(.set(sets.count - 1))
        case .sequence(let parts):
            for part in isBackwards ? parts.reversed() : parts { try compile(part) }
        case .alternatives(let parts): try compile(parts)
        case .repeated(let part, let least, let most): try compile(part, least, most)
        case .place(let place): try append(.place(place))
        case .look(let part, let isAhead, let isNegative):
            if looks.count >= 64 { throw PatternFault("It looks ahead or behind more than 64 times") }
            let program = try PatternProgram(part, isBackwards: isAhead)
            looks.append(Look(program: program, isAhead: isAhead, isNegative: isNegative))
            try append(.look(looks.count - 1))
        }
    }

    private mutating func compile(_ parts: [PatternTree]) throws(PatternFault) {
        var ends: [Int] = []
        for (number, part) in parts.enumerated() {
            let split = instructions.count
            if number < parts.count - 1 { try append(.split(split + 1, 0)) }
            try compile(part)
            guard number < parts.count - 1 else { break }
            ends.append(instructions.count)
            try append(.jump(0))
            instructions[split] = .split(split + 1, instructions.count)
        }
        for end in ends { instructions[end] = .jump(instructions.count) }
    }

    private mutating func compile(_ part: PatternTree, _ least: Int, _ most: Int?) throws(PatternFault) {
        for _ in 0..<least { try compile(part) }
        guard let most else {
            let split = instructions.count
            try append(.split(split + 1, 0))
            try compile(part)
            try append(.jump(split))
            return instructions[split] = .split(split + 1, instructions.count)
        }
        // Each copy leads past all the others, so no text meets all of them at once.
        var splits: [Int] = []
        for _ in least..<most {
            splits.append(instructions.count)
            try append(.split(instructions.count + 1, 0))
            try compile(part)
        }
        for split in splits { instructions[split] = .split(split + 1, instructions.count) }
    }

    // MARK: Matching

    /// Tells whether the expression matches somewhere in a text.
    func matches(_ text: PatternText, isEnded: () -> Bool = { false }) -> Bool {
        var isFound = false
        run(text, isEnded) { _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// Marks the places where a match ends, in the direction of reading.
    private func ends(in text: PatternText, _ isEnded: () -> Bool) -> PlaceSet {
        var ends = PlaceSet(count: text.codes.count + 1)
        run(text, isEnded) { place in
            ends.insert(place)
            return true
        }
        return ends
    }

    /// Reads a text, and calls `found` with each place where a match ends until it returns false.
    private func run(_ text: PatternText, _ isEnded: () -> Bool, found: (Int) -> Bool) {
        let marks = looks.map { $0.program.ends(in: text, isEnded) }
        let count = text.codes.count
        var (states, following) = (StateSet(count: instructions.count), StateSet(count: instructions.count))
        for step in 0...count {
            let place = isBackwards ? count - step : step
            if step & 0xFFF == 0xFFF, isEnded() { return }
            if step == 0 || !isAnchored { enter(0, at: place, text, marks, &states) }
            if states.hasMatch, !found(place) { return }
            if step == count || isAnchored && states.members.isEmpty { return }
            let code = text.codes[isBackwards ? place - 1 : place]
            for state in states.members {
                guard case .set(let set) = instructions[state], sets[set].contains(code, in: text) else { continue }
                enter(state + 1, at: isBackwards ? place - 1 : place + 1, text, marks, &following)
            }
            swap(&states, &following)
            following.removeAll()
        }
    }

    /// Enters a state and all that it leads to without a character.
    private func enter(
        _ first: Int, at place: Int, _ text: PatternText, _ marks: [PlaceSet], _ states: inout StateSet
    ) {
        states.pending.append(first)
        while let state = states.pending.popLast() {
            guard states.insert(state) else { continue }
            switch instructions[state] {
            case .set: continue
            case .match: states.hasMatch = true
            case .jump(let target): states.pending.append(target)
            case .split(let one, let other): states.pending += [other, one]
            case .place(let condition): if condition.holds(at: place, in: text) { states.pending.append(state + 1) }
            case .look(let index):
                if marks[index].contains(place) != looks[index].isNegative { states.pending.append(state + 1) }
            }
        }
    }
}

/// The states that an automaton is in.
private struct StateSet {
    private(set) var members: [Int] = []
    /// Where each state stands among the members; of others the place is another state's.
    private var places: [Int]
    /// The states that are to be entered.
    var pending: [Int] = []
    var hasMatch = false

    init(count: Int) { places = Array(repeating: 0, count: count) }

    mutating func insert(_ state: Int) -> Bool {
        if places[state] < members.count, members[places[state]] == state { return false }
        places[state] = members.count
        members.append(state)
        return true
    }

    mutating func removeAll() {
        members.removeAll(keepingCapacity: true)
        hasMatch = false
    }
}

/// A set of places in a text.
private struct PlaceSet {
    private var words: [UInt64]

    init(count: Int) { words = Array(repeating: 0, count: count / 64 + 1) }

    func contains(_ place: Int) -> Bool { words[place / 64] >> UInt64(place % 64) & 1 == 1 }

    mutating func insert(_ place: Int) { words[place / 64] |= 1 << UInt64(place % 64) }
}

extension PatternTree.Place {
    fileprivate func holds(at place: Int, in text: PatternText) -> Bool {
        let count = text.codes.count
        func isLineEnd(_ index: Int) -> Bool { text.isLineEnd(text.codes[index]) }
        func isOfWord(_ index: Int) -> Bool {
            index >= 0 && index < count && PatternSet.isOfWord(text.scalar(text.codes[index]))
        }
        switch self {
        case .start: return place == 0
        case .end: return place == count
        case .endBeforeLineEnd:
            if place == count || place == count - 1 && isLineEnd(place) { return true }
            return place == count - 2 && text.codes[place...] == [0x0D, 0x0A]
        case .lineStart: return place == 0 || place < count && isLineEnd(place - 1)
        case .lineEnd: return place == count || isLineEnd(place)
        case .wordBoundary: return isOfWord(place - 1) != isOfWord(place)
        case .noWordBoundary: return isOfWord(place - 1) == isOfWord(place)
        }
    }
}
