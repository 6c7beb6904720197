import Testing

@testable import IngestCore

/// The decision on purges by age: which time ages count from, what holds a purge, and how much goes in an hour.
@Suite struct PurgeGuardTests {
    private static let day: Int64 = 86_400_000_000
    private static let hour = day / 24
    private static let today = 20_000 * day
    private static let limit = 7 * day

    private func guardian(after times: Int64...) -> PurgeGuard {
        var guardian = PurgeGuard()
        for time in times { guardian.committed(at: time, limit: Self.limit) }
        return guardian
    }

    @Test func `ages count from the greatest time that a witness tells, never from the clock alone`() {
        var trusted = TrustedTime(lastCommit: Self.today, clock: Self.today + 30 * Self.day, uptime: 100)
        #expect(trusted.now(clock: Self.today + 30 * Self.day, uptime: 100) == Self.today)
        // The process has run for an hour since.
        #expect(trusted.now(clock: Self.today + 30 * Self.day, uptime: 3700) == Self.today + Self.hour)
        trusted.witness(Self.today + 2 * Self.day, uptime: 3700)
        #expect(trusted.now(clock: Self.today + 30 * Self.day, uptime: 3700) == Self.today + 2 * Self.day)
        // An older record does not take time back, and a record from the future moves nothing beyond the clock.
        trusted.witness(Self.today, uptime: 3700)
        #expect(trusted.now(clock: Self.today + 30 * Self.day, uptime: 3700) == Self.today + 2 * Self.day)
        trusted.witness(.max, uptime: 3700)
        #expect(trusted.now(clock: Self.today + 3 * Self.day, uptime: 3700) == Self.today + 3 * Self.day)
    }

    @Test func `a clock that is set back makes nothing old`() {
        let trusted = TrustedTime(lastCommit: Self.today, clock: Self.today - 30 * Self.day, uptime: 0)
        #expect(trusted.now(clock: Self.today - 30 * Self.day, uptime: 60) == Self.today - 30 * Self.day)
    }

    @Test func `a store without a commit takes the clock`() {
        let trusted = TrustedTime(lastCommit: nil, clock: Self.today, uptime: 0)
        #expect(trusted.now(clock: Self.today + Self.day, uptime: 0) == Self.today)
    }

    @Test(arguments: [30, -30, 60] as [Int64])
    func `commits further apart than the history is kept hold every purge`(_ days: Int64) {
        var guardian = guardian(after: Self.today, Self.today + days * Self.day)
        let gap = PurgeGuard.Gap(from: Self.today, to: Self.today + days * Self.day)
        #expect(guardian.gap == gap)
        for part in AgedPart.allCases {
            let actions = [Self.day, 0].map { guardian.action(for: part, age: $0, total: 9, now: Self.today) }
            #expect(actions == [.hold(gap), .hold(gap)])
        }
    }

    @Test func `commits as far apart as the history is kept hold nothing`() {
        #expect(guardian(after: Self.today, Self.today + Self.limit, Self.today).gap == nil)
        #expect(guardian(after: Self.today).gap == nil)
        #expect(guardian(after: .min, .max).gap == PurgeGuard.Gap(from: .min, to: .max))
    }

    @Test func `a confirmation counts for the gap that it names, and vouches for its end`() {
        let later = Self.today + 30 * Self.day
        var guardian = guardian(after: Self.today, later)
        let first = guardian.gap?.text
        let unnamed = guardian.confirmed(nil)
        #expect(unnamed == nil)
        // The clock was set right meanwhile: that is another gap, which has to be confirmed by itself.
        guardian.committed(at: Self.today + Self.hour, limit: Self.limit)
        let former = guardian.confirmed(first)
        #expect(former == nil)
        #expect(guardian.gap == PurgeGuard.Gap(from: Self.today, to: Self.today + Self.hour))
        guardian.due = [.history: 3]
        let named = guardian.confirmed(guardian.gap?.text)
        #expect(named == Self.today + Self.hour)
        #expect(guardian.gap == nil && guardian.due.isEmpty)
    }

    @Test func `an hour takes a tenth of the records, and a thousand of fewer`() {
        var guardian = PurgeGuard()
        func most(_ part: AgedPart, at time: Int64, total: Int = 50_000) -> Int {
            let action = guardian.action(for: part, age: Self.day, total: total, now: time)
            guard case .remove(let before, let most) = action else { return 0 }
            #expect(before == time - Self.day)
            return most
        }
        #expect(most(.history, at: Self.today) == 5_000)
        guardian.removed(4_000, of: .history)
        #expect(most(.history, at: Self.today + Self.hour - 1, total: 46_000) == 1_000)
        guardian.removed(1_000, of: .history)
        #expect(most(.history, at: Self.today + Self.hour - 1, total: 45_000) == 0)
        // Each kind has a share of its own.
        #expect(most(.tombstones, at: Self.today + Self.hour - 1, total: 20_000) == 2_000)
        #expect(most(.audit, at: Self.today + Self.hour - 1, total: 12) == 1_000)
        #expect(most(.history, at: Self.today + Self.hour, total: 45_000) == 4_500)
    }

    @Test func `history that is kept for no time goes whole`() {
        var guardian = PurgeGuard()
        let action = guardian.action(for: .history, age: 0, total: 50_000, now: 9)
        #expect(action == .remove(before: 9, atMost: .max))
    }

    @Test func `a restart forgets neither the hold nor the hour's share`() throws {
        var guardian = guardian(after: Self.today)
        _ = guardian.action(for: .history, age: Self.day, total: 50_000, now: Self.today)
        guardian.removed(5_000, of: .history)
        guardian.token = 7
        guardian.committed(at: Self.today + 8 * Self.day, limit: Self.limit)
        guardian.due = [.history: 45_000, .audit: 2]
        var read = try #require(PurgeGuard("\(guardian)"))
        #expect(read == guardian)
        let vouched = read.confirmed(read.gap?.text)
        let action = read.action(for: .history, age: Self.day, total: 45_000, now: Self.today)
        #expect(vouched == Self.today + 8 * Self.day && action == .rest)
        #expect(PurgeGuard("token=1 newer=5")?.token == 1)
        #expect(PurgeGuard("token=x") == nil && PurgeGuard("")?.lastCommit == nil)
    }
}
