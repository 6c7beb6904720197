import Hummingbird

/// Decides whether a request carries the token that the configuration asks for.
struct BearerToken: Sendable {
    private let expected: [UInt8]

    init(_ token: String) { expected = Array(token.utf8) }

    /// Tells whether a request carries the token, in `Authorization: Bearer TOKEN` (RFC 6750).
    func admits(_ request: Request) -> Bool {
        Self.stated(in: request).map(isEqual) ?? false
    }

    /// Tells whether a request carries a token, whichever.
    static func isStated(in request: Request) -> Bool { stated(in: request) != nil }

    private static func stated(in request: Request) -> [UInt8]? {
        guard let value = request.headers[.authorization] else { return nil }
        let parts = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        let token = Array(parts[1].utf8.drop { $0 == UInt8(ascii: " ") })
        return token.isEmpty ? nil : token
    }

    /// Compares without an early end: the time tells nothing about how much of a guess was right.
    func isEqual(to given: [UInt8]) -> Bool {
        var difference = given.count == expected.count ? UInt8(0) : 1
        for (index, byte) in expected.enumerated() {
            difference |= byte ^ (index < given.count ? given[index] : 0)
        }
        return difference == 0
    }
}
