import Hummingbird

/// Decides whether a request carries the token that the configuration asks for.
struct BearerToken: Sendable {
    /// The fewest characters of a token: fewer could be guessed.
    static let minimumLength = 16

    private let expected: [UInt8]

    init(_ token: String) { expected = Array(token.utf8) }

    /// Tells whether a request carries the token, in `Authorization: Bearer TOKEN` (RFC 6750).
    func admits(_ request: Request) -> Bool {
        guard let value = request.headers[.authorization] else { return false }
        let parts = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return false }
        return isEqual(to: Array(parts[1].utf8.drop { $0 == UInt8(ascii: " ") }))
    }

    /// Compares without an early end: the time tells nothing about how much of a guess was right.
    func isEqual(to given: [UInt8]) -> Bool {
        var difference = given.count == expected.count ? UInt8(0) : 1
        for (index, byte) in expected.enumerated() {
            difference |= byte ^ (index < given.count ? given[index] : 0)
        }
        return difference == 0
    }

    /// Tells what is wrong with a token, or nil.
    static func fault(in token: String) -> String? {
        if token.utf8.count < minimumLength { return "has fewer than \(minimumLength) characters" }
        // The characters that RFC 6750 allows and a header takes without quotes.
        let isAllowed = token.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        return isAllowed ? nil : "has a character that a header does not take"
    }
}
