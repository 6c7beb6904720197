/// A place in the history of one store: everything up to and including a transaction.
///
/// Its text is the store's identity, a colon and the transaction's number, as in `6f0c1c9e-…:42`. The number 0 is the
/// beginning of the history.
public struct HistoryToken: Sendable, Hashable, CustomStringConvertible {
    /// The identity of the token's store; see ``Store/identity()``.
    public let store: String
    /// The transaction's number, ``HistoryTransaction/token``.
    public let number: Int64

    /// Makes a token of a store's identity and a transaction's number.
    public init(store: String, number: Int64) {
        self.store = store
        self.number = number
    }

    /// Reads a token's text.
    ///
    /// - Throws: ``StoreError`` with code `history.malformed_token`.
    public init(_ text: String) throws(StoreError) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.count <= 64, let number = Int64(parts[1]), number >= 0
        else {
            throw StoreError(
                .historyMalformedToken, "The history token is malformed",
                remedy: "Give a token as it was handed out, STORE:NUMBER, or read the store itself and begin again")
        }
        store = String(parts[0])
        self.number = number
    }

    /// The text that ``init(_:)`` reads.
    public var description: String { "\(store):\(number)" }
}

extension HistoryToken: Codable {
    /// Reads the token's text.
    public init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the token's text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
