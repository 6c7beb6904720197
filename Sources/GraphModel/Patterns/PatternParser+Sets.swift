/// Escapes and classes.
extension PatternParser {
    /// Reads an escape outside of a class.
    mutating func escape() throws(PatternFault) -> PatternTree {
        let places: [(String, PatternTree.Place)] = [
            ("\\A", .start), ("\\z", .end), ("\\Z", .endBeforeLineEnd), ("\\b", .wordBoundary),
            ("\\B", .noWordBoundary),
        ]
        for (word, place) in places where skip(word) { return .place(place) }
        if skip("\\R") {
            return .alternatives([
                .sequence([.set(.scalar(0x0D)), .set(.scalar(0x0A))]), .set(PatternSet.verticalSpace),
            ])
        }
        if skip("\\X") { return .set(.any(lineEnds: true)) }
        return .set(folded(try escapedSet()))
    }

    /// Reads an escape that stands for a character or a set of them.
    private mutating func escapedSet() throws(PatternFault) -> PatternSet {
        position += 1
        guard let letter = next else { return try literal() }
        position += 1
        switch letter {
        case "d": return .digit
        case "D": return .inverted(.digit)
        case "w": return .word
        case "W": return .inverted(.word)
        case "s": return .union([.space, .lineEnd])
        case "S": return .inverted(.union([.space, .lineEnd]))
        case "h": return .horizontalSpace
        case "H": return .inverted(.horizontalSpace)
        case "v": return .verticalSpace
        case "V": return .inverted(.verticalSpace)
        case "p": return try property()
        case "P": return .inverted(folded(try property()))
        case "n": return .scalar(0x0A)
        case "t": return .scalar(0x09)
        case "r": return .scalar(0x0D)
        case "f": return .scalar(0x0C)
        case "a": return .scalar(0x07)
        case "e": return .scalar(0x1B)
        case "0": return try code(digits: 3, radix: 8)
        case "x": return try skip("{") ? code(upTo: "}") : code(digits: 2, radix: 16)
        case "u": return try skip("{") ? code(upTo: "}") : code(digits: 4, radix: 16)
        case "U": return try code(digits: 8, radix: 16)
        case "1"..."9", "k", "g":
            throw PatternFault(
                "'\\\(letter)' refers to a group, which takes more than linear time. Write the group again")
        case "A"..."Z", "a"..."z": throw PatternFault("'\\\(letter)' has no meaning")
        default: return .scalar(letter.value)
        }
    }

    private mutating func property() throws(PatternFault) -> PatternSet {
        let isLong = skip("{")
        let isInverted = isLong && skip("^")
        let name = isLong ? try text(upTo: "}") : next.map { String($0) } ?? ""
        if !isLong { position += 1 }
        guard let set = PatternSet.named(name) else {
            throw PatternFault("There is no property '\(name)'; of scripts write the ranges, such as [\\u0370-\\u03FF]")
        }
        return isInverted ? .inverted(folded(set)) : set
    }

    private mutating func code(digits: Int, radix: Int) throws(PatternFault) -> PatternSet {
        var word = ""
        while word.count < digits, let digit = next, Int(String(digit), radix: radix) != nil {
            word.unicodeScalars.append(digit)
            position += 1
        }
        if radix == 16, word.count < digits, digits > 2 { throw PatternFault("An escape has too few digits") }
        return try scalar(word, radix)
    }

    private mutating func code(upTo end: String) throws(PatternFault) -> PatternSet {
        try scalar(try text(upTo: end), 16)
    }

    private func scalar(_ digits: String, _ radix: Int) throws(PatternFault) -> PatternSet {
        guard let value = UInt32(digits, radix: radix), let scalar = Unicode.Scalar(value) else {
            throw PatternFault("An escape names no character")
        }
        return .scalar(scalar.value)
    }

    // MARK: Classes

    mutating func characterClass() throws(PatternFault) -> PatternSet {
        position += 1
        nesting += 1
        defer { nesting -= 1 }
        if nesting > 16 { throw PatternFault("Its classes are nested more than 16 deep") }
        let isInverted = skip("^")
        var whole: PatternSet?
        var operation = ""
        while true {
            let members = try classMembers()
            whole = whole.map { Self.joined($0, operation, members) } ?? members
            if skip("]") { break }
            operation = ["&&", "--", "~~"].first { skip($0) } ?? ""
        }
        let set = folded(whole ?? .union([]))
        return isInverted ? .inverted(set) : set
    }

    private static func joined(_ left: PatternSet, _ operation: String, _ right: PatternSet) -> PatternSet {
        switch operation {
        case "&&": .intersection(left, right)
        case "--": .intersection(left, .inverted(right))
        default: .intersection(.union([left, right]), .inverted(.intersection(left, right)))
        }
    }

    /// Reads the members of a class up to its end or an operation.
    private mutating func classMembers() throws(PatternFault) -> PatternSet {
        var members: [PatternSet] = []
        while next != "]" || members.isEmpty {
            if ["&&", "--", "~~"].contains(where: { isNext($0) }), !members.isEmpty { break }
            if position >= text.codes.count { throw PatternFault("It lacks a ']'") }
            if next == "]" { throw PatternFault("It has an empty class. Write a ']' as '\\]'") }
            members.append(try classMember())
        }
        return members.count == 1 ? members[0] : .union(members)
    }

    private func isNext(_ word: String) -> Bool {
        for (distance, scalar) in word.unicodeScalars.enumerated() where peek(distance) != scalar { return false }
        return true
    }

    private mutating func classMember() throws(PatternFault) -> PatternSet {
        if skip("[:") {
            let isInverted = skip("^")
            let name = try text(upTo: ":]")
            guard let set = PatternSet.named(name) else { throw PatternFault("There is no class '[:\(name):]'") }
            return isInverted ? .inverted(folded(set)) : set
        }
        if next == "[" { return try characterClass() }
        let first = try classCharacter()
        guard next == "-", peek(1) != "]", peek(1) != "-", position + 1 < text.codes.count else { return first }
        guard case .scalar(let start) = first else {
            throw PatternFault("A range begins with a set. Write '\\-' for a '-'")
        }
        position += 1
        guard next != "[", case .scalar(let end) = try classCharacter(), start <= end else {
            throw PatternFault("A range of a class ends before it begins. Write '\\-' for a '-'")
        }
        return .range(start...end)
    }

    private mutating func classCharacter() throws(PatternFault) -> PatternSet {
        if skip("\\b") { return .scalar(0x08) }
        return next == "\\" ? try escapedSet() : try literal()
    }
}
