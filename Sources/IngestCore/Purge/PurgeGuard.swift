import GraphCore

/// The time from which the ages of records count: the greatest that a witness told, and never more than the clock.
///
/// Witnesses are the commits before this start and the timestamps of the broker's records. Between them the time goes on
/// with the process's uptime, which no change of the clock moves.
struct TrustedTime: Equatable {
    private var time: Int64
    private var uptime: Double

    /// - Parameters:
    ///   - lastCommit: the greatest time of the commits before this start, or nil where there are none.
    ///   - clock: the clock's microseconds since 1970 UTC; a store without a commit has nothing that it could make old.
    ///   - uptime: seconds of one monotonic clock.
    init(lastCommit: Int64?, clock: Int64, uptime: Double) {
        time = lastCommit ?? clock
        self.uptime = uptime
    }

    /// Notes the time that a witness tells.
    mutating func witness(_ time: Int64, uptime: Double) {
        self.time = max(time, passed(at: uptime))
        self.uptime = uptime
    }

    /// Returns the time from which ages count.
    func now(clock: Int64, uptime: Double) -> Int64 { min(clock, passed(at: uptime)) }

    private func passed(at uptime: Double) -> Int64 {
        let (sum, overflow) = time.addingReportingOverflow(Int64(max(0, uptime - self.uptime) * 1_000_000))
        return overflow ? .max : sum
    }
}

/// Decides which rows purges by age may remove. History, tombstones and audit share this decision.
///
/// It takes the times of commits in their order, and answers with an action. Two commits further apart than the history is
/// kept hold every purge. One of the two clocks may have been wrong then, and by a wrong clock everything is old.
/// The store keeps the guard as a text, so that a hold and the hour's share survive a restart.
package struct PurgeGuard: Equatable, Sendable {
    /// Two commits in a row that lie too far apart; times in microseconds since 1970 UTC.
    package struct Gap: Equatable, Sendable {
        package var from: Int64
        package var to: Int64

        /// The text by which a confirmation names the gap.
        var text: String { "\(from) \(to)" }
    }

    /// The answer to the question what a purge does.
    enum Action: Equatable {
        /// Nothing is removed before an operator confirms.
        case hold(Gap)
        /// So many records at most are removed, all from before the time.
        case remove(before: Int64, atMost: Int)
        /// Nothing more is removed in this hour.
        case rest
    }

    /// The part of all records of a kind that purges remove in an hour: one of so many.
    static let hourlyShare = 10
    /// So many records go in an hour also where they are more than the share.
    static let leastPerHour = 1000
    private static let hourMicroseconds: Int64 = 3_600_000_000

    /// The time of the last commit that was looked at.
    package private(set) var lastCommit: Int64?
    /// The last transaction of the history that was looked at.
    var token: Int64 = 0
    /// The gap that holds purges, or nil.
    package private(set) var gap: Gap?
    /// The number of records that are too old by the clock, as counted while purges are held.
    package var due: [AgedPart: Int] = [:]
    private var hour: Int64 = 0
    /// The number of records that may still be removed in this hour.
    private var left: [AgedPart: Int] = [:]

    package init() {}

    // MARK: Commits

    /// Notes the time of the next commit. A commit that is further from the last than `limit` makes a gap.
    mutating func committed(at time: Int64, limit: Int64) {
        defer { lastCommit = time }
        guard let lastCommit, Self.distance(time, lastCommit) > limit else { return }
        gap = Gap(from: gap?.from ?? lastCommit, to: time)
    }

    private static func distance(_ first: Int64, _ second: Int64) -> UInt64 {
        let (difference, overflow) = first.subtractingReportingOverflow(second)
        return overflow ? .max : difference.magnitude
    }

    /// Applies an operator's confirmation; it has no effect where it names another gap.
    ///
    /// - Returns: the time that the operator vouches for, or nil.
    mutating func confirmed(_ text: String?) -> Int64? {
        guard let gap, gap.text == text else { return nil }
        (self.gap, due) = (nil, [:])
        return gap.to
    }

    // MARK: Removal

    /// Returns the action for records of a kind.
    ///
    /// - Parameters:
    ///   - age: the age at which they go, in microseconds.
    ///   - total: the number of records of the kind.
    ///   - now: the time from which ages count.
    mutating func action(for part: AgedPart, age: Int64, total: Int, now: Int64) -> Action {
        if let gap { return .hold(gap) }
        let before = now - age
        // Records that are not kept for any time have no age that could be wrong.
        if age == 0 { return .remove(before: before, atMost: .max) }
        if now >= hour + Self.hourMicroseconds || now < hour { (hour, left) = (now, [:]) }
        let left = left[part] ?? max(Self.leastPerHour, total / Self.hourlyShare)
        self.left[part] = left
        return left > 0 ? .remove(before: before, atMost: left) : .rest
    }

    /// Notes the removal of records.
    mutating func removed(_ count: Int, of part: AgedPart) {
        left[part] = left[part].map { max(0, $0 - count) }
    }
}

extension PurgeGuard: LosslessStringConvertible {
    /// The guard as the store keeps it: names and numbers.
    package var description: String {
        var fields: [(String, Int64)] = [("token", token), ("hour", hour)]
        if let lastCommit { fields.append(("commit", lastCommit)) }
        if let gap { fields += [("from", gap.from), ("to", gap.to)] }
        for part in AgedPart.allCases {
            if let count = due[part] { fields.append(("due.\(part)", Int64(count))) }
            if let count = left[part] { fields.append(("left.\(part)", Int64(count))) }
        }
        return fields.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
    }

    /// Reads a text; fields that a newer program may have written are passed over.
    package init?(_ description: String) {
        var fields: [Substring: Int64] = [:]
        for field in description.split(separator: " ") {
            let parts = field.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let number = Int64(parts[1]) else { return nil }
            fields[parts[0]] = number
        }
        (token, hour, lastCommit) = (fields["token"] ?? 0, fields["hour"] ?? 0, fields["commit"])
        if let from = fields["from"], let to = fields["to"] { gap = Gap(from: from, to: to) }
        for part in AgedPart.allCases {
            due[part] = fields["due.\(part)"].flatMap { Int(exactly: $0) }
            left[part] = fields["left.\(part)"].flatMap { Int(exactly: $0) }
        }
    }
}
