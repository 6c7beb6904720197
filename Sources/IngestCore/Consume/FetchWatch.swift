/// Decides whether a partition is stalled: the broker has more of it than was read, and nothing comes.
///
/// Behind the last record there may be offsets without any (markers of transactions, gaps that compaction left). So the
/// end that the client itself has reached counts as read. Times are in seconds of one monotonic clock.
struct FetchWatch: Sendable {
    /// The action on the partition.
    enum Action: Sendable, Equatable {
        /// The broker's end is so many offsets further than what was read, and nothing has come since the watch found it.
        case tell(behind: Int64)
        /// The partition has been stalled for so long that the client has to fetch it again.
        case refetch(behind: Int64)
        /// The reported silence is over.
        case over
    }

    /// How long a partition may be stalled before health reports it, beside the time that the broker may wait for more
    /// records.
    static let tellingSeconds = 2.0
    /// How long it may be stalled before the client fetches it again, beside the same time. Each time without success
    /// the wait doubles, because an answer that only takes long has to come in the end.
    static let patienceSeconds = 5.0
    /// The longest such wait.
    static let maximumPatienceSeconds = 300.0
    /// The polls without a sign of life that have to lie in that time: while the worker does not poll, silence means
    /// nothing.
    static let leastPolls = 10

    private let brokerWaitSeconds: Double
    /// The offset that follows the partition's last one, where the client has reached its end.
    private var end: Int64?
    /// Since when the partition is known to be behind without a sign of life, and how many polls brought none since.
    private var silence: (since: Double, polls: Int)?
    private var isTold = false
    private var isOver = false
    private var patienceSeconds = FetchWatch.patienceSeconds

    /// Makes a watch of a partition that is read from now on.
    ///
    /// - Parameter brokerWaitSeconds: how long the broker may keep records back for more of them (`fetch.wait.max.ms`).
    init(brokerWaitSeconds: Double = 0.5) { self.brokerWaitSeconds = brokerWaitSeconds }

    /// Whether the partition is behind and has given no sign of life since.
    var isSuspicious: Bool { silence != nil }

    /// Whether health has a report of a silence but not yet of its end.
    var isReported: Bool { isTold || isOver }

    /// Whether the client has reached the end since it was sent to read.
    var hasReachedEnd: Bool { end != nil }

    /// Notes that the client reads from another offset; that is no sign of life.
    mutating func begin() { end = nil }

    /// Notes a record, which is a sign of life.
    mutating func hear() {
        guard silence != nil else { return }
        if isTold { isOver = true }
        silence = nil
        isTold = false
    }

    /// Notes that the client has reached the partition's end.
    mutating func reachEnd(_ offset: Int64) {
        hear()
        end = offset
        // Only now it is known that fetching works: records may be so large that each takes long.
        patienceSeconds = Self.patienceSeconds
    }

    /// Notes a poll; the caller notes the poll's signs of life after it.
    ///
    /// - Parameter isFull: whether more may wait in the client's queue, before what is missed: then silence means nothing.
    mutating func polled(isFull: Bool) {
        if silence == nil { return }
        if isFull { hear() } else { silence?.polls += 1 }
    }

    /// Returns up to which offset the partition was read.
    func reached(next: Int64?) -> Int64 { max(next ?? 0, end ?? 0) }

    /// Compares the broker's end with the offset that was read.
    ///
    /// - Parameters:
    ///   - end: the offset that follows the partition's last one, as of a moment ago; nil where nothing new is known.
    ///   - next: the next offset wanted, 0 where nothing is known; nil where no record can be expected.
    mutating func update(end: Int64?, next: Int64?, at time: Double) -> Action? {
        if let action = look(end: end, next: next, at: time) { return action }
        defer { isOver = false }
        return isOver ? .over : nil
    }

    private mutating func look(end: Int64?, next: Int64?, at time: Double) -> Action? {
        guard let next else {
            hear()
            return nil
        }
        guard let end else { return nil }
        let behind = end - reached(next: next)
        if behind <= 0 {
            hear()
            return nil
        }
        guard let silence else {
            self.silence = (time, 0)
            return nil
        }
        if silence.polls < Self.leastPolls { return nil }
        let seconds = time - silence.since - brokerWaitSeconds
        if seconds >= patienceSeconds {
            self.silence = (time, 0)
            patienceSeconds = min(patienceSeconds * 2, Self.maximumPatienceSeconds)
            return .refetch(behind: behind)
        }
        if isTold || seconds < Self.tellingSeconds { return nil }
        isTold = true
        return .tell(behind: behind)
    }
}
