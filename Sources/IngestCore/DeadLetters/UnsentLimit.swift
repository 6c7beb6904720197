/// Decides whether reading has to wait because too many dead letters wait for their topic.
///
/// Once the limit is reached, reading waits until half of it is left, so that it does not stop and start with every
/// letter.
struct UnsentLimit: Sendable {
    private let maximum: Int
    /// The number of letters that wait; an estimate between two counts, never too low.
    private(set) var unsent = 0
    /// Whether reading has to wait.
    private(set) var isReached = false

    /// Makes a limit; 0 is none.
    init(maximum: Int) { self.maximum = maximum }

    /// Takes a number of letters that were saved.
    mutating func added(_ count: Int) { set(unsent + count) }

    /// Takes the number of letters that the store counts.
    mutating func counted(_ count: Int) { set(count) }

    /// Takes a number of letters that were sent.
    mutating func sent(_ count: Int) { set(max(0, unsent - count)) }

    private mutating func set(_ count: Int) {
        unsent = count
        guard maximum > 0 else { return }
        if count >= maximum { isReached = true }
        if count <= maximum / 2 { isReached = false }
    }
}
