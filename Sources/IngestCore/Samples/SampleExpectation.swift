import RecordDecoding

/// Compares the outcomes of a sample's records with recorded ones.
package struct SampleExpectation {
    /// An outcome that is not the recorded one.
    package struct Difference: Sendable, Equatable {
        /// The number of the line in the file of expectations.
        package let line: Int
        /// The recorded outcome, or nil where the sample has more records.
        package let expected: String?
        /// The outcome now, or nil where the sample has fewer records.
        package let found: String?
    }

    private let expected: [String]
    private let parser: JSONParser
    private var line = 0
    /// The differences so far.
    package private(set) var differences: [Difference] = []

    /// Reads recorded outcomes, one a line; white space between the parts of a line has no meaning.
    ///
    /// - Throws: ``JSONError`` where a line is no JSON.
    package init(_ text: String) throws {
        let parser = JSONParser()
        self.parser = parser
        expected = try text.split(whereSeparator: \.isNewline).map { try Self.canonical(String($0), parser) }
    }

    /// Compares the next record's outcome.
    package mutating func compare(_ outcome: String) {
        line += 1
        let recorded = line <= expected.count ? expected[line - 1] : nil
        let found = (try? Self.canonical(outcome, parser)) ?? outcome
        if recorded != found { differences.append(Difference(line: line, expected: recorded, found: found)) }
    }

    /// Ends the comparison: records that are missing are differences too.
    package mutating func finish() {
        while line < expected.count {
            line += 1
            differences.append(Difference(line: line, expected: expected[line - 1], found: nil))
        }
    }

    private static func canonical(_ text: String, _ parser: JSONParser) throws -> String {
        var text = text
        return try text.withUTF8 { bytes in
            String(decoding: try parser.parse(UnsafeRawBufferPointer(bytes)).root.serialized(), as: UTF8.self)
        }
    }
}
