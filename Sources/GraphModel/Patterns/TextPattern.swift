/// A regular expression, compiled once. Its time is linear in the length of a text.
public struct TextPattern: Sendable {
    /// The expression as the model file states it.
    public let source: String
    private let program: PatternProgram
    /// Matches most texts, where the expression is a simple one.
    private let automaton: TextAutomaton?
    private let unit: PatternText.Unit

    /// Compiles an expression that has to match somewhere in a text, whose unit is the character.
    ///
    /// - Throws: ``PatternFault``.
    init(_ source: String) throws(PatternFault) {
        var parser = PatternParser(source, .characters, ignoresCase: false)
        let tree = try parser.parse()
        self.source = source
        unit = .characters
        program = try PatternProgram(tree)
        automaton = TextAutomaton(tree)
    }

    /// Compiles an expression that has to match the whole of a text, whose unit is the Unicode scalar, as in ICU.
    ///
    /// - Returns: nil where the expression is none.
    package init?(whole source: String, ignoresCase: Bool) {
        var parser = PatternParser(source, .scalars, ignoresCase: ignoresCase)
        guard let tree = try? parser.parse(),
            let program = try? PatternProgram(.sequence([.place(.start), tree, .place(.end)]))
        else { return nil }
        self.source = source
        self.program = program
        unit = .scalars
        automaton = nil
    }

    /// Tells whether a text matches.
    ///
    /// - Parameter isEnded: asked now and then whether nobody waits for the answer any more; it is then false.
    package func matches(_ text: String, isEnded: () -> Bool = { false }) -> Bool {
        automaton?.matches(text) ?? program.matches(PatternText(text, unit), isEnded: isEnded)
    }
}
