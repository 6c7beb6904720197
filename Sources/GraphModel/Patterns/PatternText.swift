import Foundation

/// A text as a pattern sees it: one code for each of its characters or scalars.
///
/// A code is a Unicode scalar, or from ``firstCluster`` on a character that no single scalar spells.
struct PatternText {
    /// The unit of a text that `.` takes.
    enum Unit {
        /// A character as people see it, in each of its spellings: a pattern of a model.
        case characters
        /// Unicode scalars, as in ICU: MATCHES of a predicate.
        case scalars
    }

    static let firstCluster: UInt32 = 0x8000_0000
    /// The line end of two scalars, which is one character.
    private static let lineEnd = "\r\n"
    /// A character of more scalars has no single scalar that spells it, nor does it stand in patterns.
    private static let maximumComparedBytes = 128

    private(set) var codes: [UInt32] = []
    private var clusters: [String] = []

    init(_ text: String, _ unit: Unit) {
        codes.reserveCapacity(text.utf8.count)
        switch unit {
        case .scalars: for scalar in text.unicodeScalars { codes.append(scalar.value) }
        case .characters: for character in text { append(character) }
        }
    }

    private mutating func append(_ character: Character) {
        let scalars = character.unicodeScalars
        if let only = scalars.first, scalars.index(after: scalars.startIndex) == scalars.endIndex {
            return codes.append(only.value)
        }
        var spelling = String(character)
        // To compose a character takes more than linear time in its length.
        if spelling.utf8.count <= Self.maximumComparedBytes {
            spelling = spelling.precomposedStringWithCanonicalMapping
            let composed = spelling.unicodeScalars
            if composed.count == 1, let only = composed.first { return codes.append(only.value) }
        }
        codes.append(Self.firstCluster + UInt32(clusters.count))
        clusters.append(spelling)
    }

    /// Returns the spelling of a character that no single scalar spells, composed where it is short; nil for others.
    func cluster(_ code: UInt32) -> String? {
        code < Self.firstCluster ? nil : clusters[Int(code - Self.firstCluster)]
    }

    /// Returns the scalar that a code's kind follows from: the scalar itself, or the first one of a cluster.
    func scalar(_ code: UInt32) -> Unicode.Scalar {
        if let cluster = cluster(code) { return cluster.unicodeScalars.first ?? "\u{FFFD}" }
        return Unicode.Scalar(code) ?? "\u{FFFD}"
    }

    /// Tells whether a code ends a line.
    func isLineEnd(_ code: UInt32) -> Bool {
        if let cluster = cluster(code) { return cluster.unicodeScalars.elementsEqual(Self.lineEnd.unicodeScalars) }
        return Self.lineEnds.contains(code)
    }

    private static let lineEnds: [UInt32] = [0x0A, 0x0C, 0x0D, 0x85, 0x2028, 0x2029]
}
