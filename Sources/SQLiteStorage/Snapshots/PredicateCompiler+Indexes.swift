// Conditions that an expression index or a partial index of the model serves.
//
// An expression index holds the results of SQLite's `lower` and `upper`. These change ASCII letters only, so that every
// program can write the store. `lowercase:` and `uppercase:` of a condition are Unicode's. Of a text in ASCII both say
// the same, save for the few letters that others too are mapped to. So a condition gets a second one beside it, which
// follows from it and which the index serves.
extension PredicateCompiler {
    /// Returns the condition for SQLite's own function that follows from a comparison of a transformed text. The result is
    /// nil where no index serves it, or where nothing follows.
    mutating func inASCII(
        _ left: TypedExpression, _ texts: [String], isPrefix: Bool = false
    ) throws(FetchPredicateError) -> String? {
        guard case .text(let transformation, let operand) = left.node, case .path(let path) = operand.node,
            path.steps.isEmpty, case .attribute(let attribute) = path.end,
            let function = transformation.sqliteFunction,
            model.hasIndex(on: attribute, of: path.owner, { $0.sqliteFunction == function })
        else { return nil }
        let beginnings = texts.map(transformation.asciiBeginning)
        guard !beginnings.isEmpty, !beginnings.contains("") else { return nil }
        let subject = "\(function)(\(try expression(operand)))"
        if !isPrefix, beginnings == texts { return "\(subject) IN (\(parameters(texts.map { .text($0) })))" }
        guard beginnings.count == 1 else { return nil }
        return begins(subject, with: beginnings[0])
    }

    /// Returns a comparison with several values in the form of a partial index's condition, values included, if one has it.
    /// SQLite finds lists and ranges of parameters equal to no others.
    func partOfIndex(_ comparison: CheckedComparison) -> String? {
        guard case .path(let path) = comparison.left.node, let checked = try? IndexComparison(comparison),
            model.hasPartialIndex(with: checked, of: path.owner)
        else { return nil }
        return checked.sql(prefix: "\(scopes.alias(path.scope)).")
    }
}

extension EntityIndex.Element.Function {
    /// SQLite's own function that an index has.
    var sqliteFunction: String { self == .uppercase ? "upper" : "lower" }
}

extension TextTransformation {
    /// SQLite's own function that does the same with ASCII letters; nil where that says nothing of other letters.
    var sqliteFunction: String? {
        switch self {
        case .uppercase: "upper"
        case .lowercase: "lower"
        // Letters with diacritics become ASCII letters, all of them.
        case .canonical: nil
        }
    }

    /// The ASCII letters that other letters too become, or begin with: the Kelvin sign; dotless i, long and sharp s,
    /// ligatures.
    private var sharedLetters: Set<Unicode.Scalar> { self == .uppercase ? ["F", "I", "S"] : ["k"] }

    /// Returns the beginning of a transformed text that only ASCII letters have become.
    func asciiBeginning(of text: String) -> String {
        let shared = sharedLetters
        var beginning = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if shared.contains(scalar) { break }
            if !scalar.isASCII {
                // Both may have become of one letter, as of the capital dotted i.
                _ = beginning.popLast()
                break
            }
            beginning.append(scalar)
        }
        return String(beginning)
    }
}
