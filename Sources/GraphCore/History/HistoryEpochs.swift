/// The epochs of a store's history. Each begins where a store went on without the last transactions of another one.
///
/// A standby that lagged behind and was promoted lacks the last transactions, and so does a store that was restored from
/// a backup. It gives their numbers out again. So a place in the history is a number together with an epoch.
package struct HistoryEpochs: Sendable, Equatable {
    /// The beginning of an epoch.
    package struct Fork: Sendable, Equatable {
        /// The epoch that begins; each is greater than the one before.
        package let epoch: Int64
        /// The last transaction that both sides have.
        package let lastToken: Int64
        /// The last dead-letter record that both sides have.
        package let lastDeadLetter: Int64
    }

    /// The forks in their order.
    package private(set) var forks: [Fork] = []

    /// The name under which a store notes its epochs.
    package static let metadataKey = "epochs"

    /// A history of one epoch, number 0.
    package init() {}

    /// Reads the forks from a text in the form of ``text``, and leaves out words that are no fork.
    package init(text: String?) {
        forks = (text ?? "").split(separator: " ").compactMap { part in
            let numbers = part.split(separator: ":").compactMap { Int64($0) }
            return numbers.count == 3
                ? Fork(epoch: numbers[0], lastToken: numbers[1], lastDeadLetter: numbers[2]) : nil
        }
    }

    /// The forks, each as `EPOCH:TOKEN:DEADLETTER`, with spaces between.
    package var text: String {
        forks.map { "\($0.epoch):\($0.lastToken):\($0.lastDeadLetter)" }.joined(separator: " ")
    }

    /// The keys and values of the metadata of a store with these epochs.
    package var metadata: [(key: String, value: String)] {
        [(Self.metadataKey, text), ("epoch", "\(current)")]
    }

    /// The present epoch.
    package var current: Int64 { forks.last?.epoch ?? 0 }

    /// Begins an epoch, of a number that is not less than `minimum`.
    package mutating func fork(minimum: Int64, lastToken: Int64, lastDeadLetter: Int64) {
        forks.append(
            Fork(epoch: max(current + 1, minimum), lastToken: lastToken, lastDeadLetter: lastDeadLetter))
    }

    /// The epoch in which a transaction of this history was written.
    package func epoch(of token: Int64) -> Int64 { forks.last { $0.lastToken < token }?.epoch ?? 0 }

    /// Returns the greatest number up to a token of an epoch that this history shares with that one.
    package func shared(_ token: Int64, of epoch: Int64) -> Int64 {
        forks.reduce(token) { $1.epoch > epoch ? min($0, $1.lastToken) : $0 }
    }

    /// As ``shared(_:of:)``, for the number of a dead-letter record.
    package func shared(deadLetter id: Int64, of epoch: Int64) -> Int64 {
        forks.reduce(id) { $1.epoch > epoch ? min($0, $1.lastDeadLetter) : $0 }
    }

    /// Refuses a place that another history has gone on from.
    ///
    /// - Throws: ``StoreError`` with code `history.forked`.
    package func check(_ token: Int64, of epoch: Int64) throws(StoreError) {
        let isKnown = epoch == 0 || forks.contains { $0.epoch == epoch }
        let shared = isKnown ? shared(token, of: epoch) : min(token, forks.first?.lastToken ?? 0)
        if isKnown, shared == token { return }
        throw StoreError(
            .historyForked,
            "Transaction \(token) of epoch \(epoch) was lost when a server took over or a backup was restored; the "
                + "histories agree up to transaction \(shared)",
            remedy: "Read the store itself, then go on from the token that it has")
    }
}
