/// Decides whether the worker goes on reading, by the number of entries that wait in an outbox.
///
/// Reading stops at the limit. It goes on only well below it, so that it does not stop and start with every delivery.
struct BacklogLimit: Sendable {
    /// The limit, or nil where there is none.
    let maximum: Int?
    private let resumesAt: Int
    /// The number of entries that wait; an estimate between two counts.
    private(set) var waiting = 0
    /// Whether the limit was reached, and reading has to wait.
    private(set) var isFull = false

    /// Makes a limit; 0 entries means none.
    ///
    /// - Parameter resumesAt: the number of entries at which reading goes on.
    init(maximum: Int, resumesAt: Int) {
        self.maximum = maximum > 0 ? maximum : nil
        self.resumesAt = resumesAt
    }

    /// Notes the number of entries that were saved.
    mutating func added(_ count: Int) { counted(waiting + count) }

    /// Notes the number of entries that were delivered.
    mutating func delivered(_ count: Int) { counted(max(0, waiting - count)) }

    /// Notes the number of entries that the store counts.
    mutating func counted(_ count: Int) {
        waiting = count
        guard let maximum else { return }
        if count >= maximum { isFull = true }
        if count <= resumesAt { isFull = false }
    }
}
