/// A place in the history of one store: everything up to and including a transaction.
///
/// Its text is the store's identity, a colon and the transaction's number, as in `6f0c1c9e-…:42`. The number 0 is the
/// beginning of the history. Where a server took over without the last transactions of another one, numbers come again.
/// The text then ends with the epoch, as in `6f0c1c9e-…:42@2`.
public struct HistoryToken: Sendable, Hashable, CustomStringConvertible {
    /// The identity of the token's store; see ``Store/identity()``.
    public let store: String
    /// The transaction's number, ``HistoryTransaction/token``.
    public let number: Int64
    /// The epoch of the history: 0, and another one after each server that took over.
    public let epoch: Int64

    /// Makes a token of a store's identity, a transaction's number and an epoch.
    public init(store: String, number: Int64, epoch: Int64 = 0) {
        self.store = store
        self.number = number
        self.epoch = epoch
    }

    /// Reads a token's text.
    ///
    /// - Throws: ``StoreError`` with code `history.malformed_token`.
    public init(_ text: String) throws(StoreError) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let numbers = parts.count == 2 ? parts[1].split(separator: "@", omittingEmptySubsequences: false) : []
        guard (1...2).contains(numbers.count), !parts[0].isEmpty, parts[0].utf8.count <= 64,
            let number = Int64(numbers[0]), number >= 0, let epoch = numbers.count == 2 ? Int64(numbers[1]) : 0,
            epoch >= 0
        else {
            throw StoreError(
                .historyMalformedToken, "The history token is malformed",
                remedy: "Give a token as it was handed out, STORE:NUMBER, or read the store itself and begin again")
        }
        store = String(parts[0])
        self.number = number
        self.epoch = epoch
    }

    /// The text that ``init(_:)`` reads.
    public var description: String { epoch == 0 ? "\(store):\(number)" : "\(store):\(number)@\(epoch)" }
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
