/// The characters that one place of a pattern takes.
indirect enum PatternSet: Sendable {
    case scalar(UInt32)
    case range(ClosedRange<UInt32>)
    /// A character that no single scalar spells.
    case cluster(String)
    /// `.`, which takes the ends of lines only where the pattern says so.
    case any(lineEnds: Bool)
    case lineEnd
    case property(@Sendable (Unicode.Scalar) -> Bool)
    case union([PatternSet])
    case intersection(PatternSet, PatternSet)
    case inverted(PatternSet)
    /// A set that takes either case of what it names.
    case eitherCase(PatternSet)

    /// Tells whether the set has a character of a text.
    func contains(_ code: UInt32, in text: PatternText) -> Bool {
        switch self {
        case .scalar(let own): return code == own
        case .range(let range): return range.contains(code)
        case .cluster(let own): return text.cluster(code)?.utf8.elementsEqual(own.utf8) ?? false
        case .any(let lineEnds): return lineEnds || !text.isLineEnd(code)
        case .lineEnd: return text.isLineEnd(code)
        case .property(let holds): return holds(text.scalar(code))
        case .union(let sets): return sets.contains { $0.contains(code, in: text) }
        case .intersection(let left, let right):
            return left.contains(code, in: text) && right.contains(code, in: text)
        case .inverted(let set): return !set.contains(code, in: text)
        case .eitherCase(let set):
            if set.contains(code, in: text) { return true }
            guard code < PatternText.firstCluster else { return false }
            let properties = text.scalar(code).properties
            return [properties.lowercaseMapping, properties.uppercaseMapping].contains { mapping in
                let scalars = mapping.unicodeScalars
                guard let only = scalars.first, only.value != code, scalars.count == 1 else { return false }
                return set.contains(only.value, in: text)
            }
        }
    }

    static let digit = PatternSet.property { $0.properties.generalCategory == .decimalNumber }
    static let space = PatternSet.property { $0.properties.isWhitespace }
    static let horizontalSpace = PatternSet.property {
        $0 == "\t" || $0.properties.generalCategory == .spaceSeparator
    }
    static let verticalSpace = PatternSet.union([.lineEnd, .scalar(0x0B)])
    /// The characters of words: letters, marks, digits and connectors.
    ///
    /// Source: Unicode Technical Standard 18, annex C.
    static let word = PatternSet.property(isOfWord)

    static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x80 { return scalar == "_" || scalar.properties.isAlphabetic || ("0"..."9") ~= scalar }
        if scalar.properties.isAlphabetic || scalar.properties.isJoinControl { return true }
        return switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .connectorPunctuation: true
        default: false
        }
    }
}

/// The names of sets in `\p{…}` and `[:…:]`.
extension PatternSet {
    /// Returns the set of a property's name, or nil where no property has this name.
    static func named(_ name: String) -> PatternSet? {
        var name = name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " }
        for beginning in ["generalcategory=", "gc=", "is"] where name.hasPrefix(beginning) {
            name.removeFirst(beginning.count)
            break
        }
        if let set = binary[name] { return set }
        let short = categoryNames[name] ?? name
        let categories = categories.filter { $0.name == short || short.count == 1 && $0.name.hasPrefix(short) }
            .map(\.category)
        if categories.isEmpty { return nil }
        return .property { scalar in categories.contains(scalar.properties.generalCategory) }
    }

    private static let binary: [String: PatternSet] = [
        "any": .any(lineEnds: true), "ascii": .range(0...0x7F), "alphabetic": .property { $0.properties.isAlphabetic },
        "alpha": .property { $0.properties.isAlphabetic }, "whitespace": space, "space": space, "digit": digit,
        "uppercase": .property { $0.properties.isUppercase }, "upper": .property { $0.properties.isUppercase },
        "lowercase": .property { $0.properties.isLowercase }, "lower": .property { $0.properties.isLowercase },
        "alnum": .property { $0.properties.isAlphabetic || $0.properties.generalCategory == .decimalNumber },
        "blank": horizontalSpace, "word": word, "emoji": .property { $0.properties.isEmoji },
        "ideographic": .property { $0.properties.isIdeographic },
        "xdigit": .property { $0.properties.isHexDigit || $0.properties.generalCategory == .decimalNumber },
        "graph": .property { isVisible($0) && !$0.properties.isWhitespace },
        "print": .property { isVisible($0) && $0.properties.generalCategory != .control },
    ]

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: scalar == "\t"
        case .surrogate, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    private static let categories: [(name: String, category: Unicode.GeneralCategory)] = [
        ("lu", .uppercaseLetter), ("ll", .lowercaseLetter), ("lt", .titlecaseLetter), ("lm", .modifierLetter),
        ("lo", .otherLetter), ("mn", .nonspacingMark), ("mc", .spacingMark), ("me", .enclosingMark),
        ("nd", .decimalNumber), ("nl", .letterNumber), ("no", .otherNumber), ("pc", .connectorPunctuation),
        ("pd", .dashPunctuation), ("ps", .openPunctuation), ("pe", .closePunctuation), ("pi", .initialPunctuation),
        ("pf", .finalPunctuation), ("po", .otherPunctuation), ("sm", .mathSymbol), ("sc", .currencySymbol),
        ("sk", .modifierSymbol), ("so", .otherSymbol), ("zs", .spaceSeparator), ("zl", .lineSeparator),
        ("zp", .paragraphSeparator), ("cc", .control), ("cf", .format), ("cs", .surrogate), ("co", .privateUse),
        ("cn", .unassigned),
    ]

    private static let categoryNames = [
        "letter": "l", "uppercaseletter": "lu", "lowercaseletter": "ll", "titlecaseletter": "lt", "mark": "m",
        "nonspacingmark": "mn", "number": "n", "decimalnumber": "nd", "punctuation": "p", "punct": "p", "symbol": "s",
        "currencysymbol": "sc", "mathsymbol": "sm", "separator": "z", "spaceseparator": "zs", "other": "c",
        "control": "cc", "cntrl": "cc", "format": "cf",
    ]
}
