import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// Decides after each commit how the write-ahead log is carried over to the store.
///
/// A passive checkpoint waits for nobody, and stops at a reader whose snapshot is older. Where readers follow on
/// one another there is always such a one, and the log would grow for as long as they come. So at some size the writer
/// waits for the current readers, after which the log begins again. The writer rests for a while behind a wait in
/// vain, or until the one long reader that held it up has gone.
/// Source: sqlite.org/wal.html, "Avoiding Excessively Large WAL Files".
///
/// A large commit is one of a backlog, and others follow. They write many of the same pages again, and a checkpoint
/// writes each of them once. So the log may grow further then, where the disk has room.
struct CheckpointDecision: Sendable {
    enum Manner: Equatable { case none, passive, waiting }

    /// Sizes of the log, in pages.
    struct Limits: Sendable {
        /// The size at which the log is carried over.
        var passivePages: Int32
        /// The size at which readers are waited for.
        var waitingPages: Int32
    }

    var limits = Limits(passivePages: 16_000, waitingPages: 64_000)
    /// The limits behind a large commit.
    var backlogLimits = Limits(passivePages: 64_000, waitingPages: 96_000)
    /// The pages of a large commit.
    var largeCommitPages: Int32 = 2_000
    /// How long no further wait takes place after readers have held up a checkpoint.
    var restSeconds = 30.0
    private var restsUntil = -Double.infinity
    /// The pages carried over when one long reader held up the others.
    private var heldAtPages: Int32?
    private var formerPages: Int32 = 0

    init() {}

    /// How to carry the log over behind a commit.
    ///
    /// - Parameters:
    ///   - pages: the pages of the log, the commit's included.
    ///   - hasRoom: whether the disk has room for a large log.
    ///   - time: the time in seconds of a monotonic clock.
    mutating func manner(pages: Int32, hasRoom: @autoclosure () -> Bool, at time: Double) -> Manner {
        // A log that begins again is shorter than before.
        let committedPages = pages < formerPages ? pages : pages - formerPages
        formerPages = pages
        if pages < limits.passivePages { return .none }
        let limits = committedPages >= largeCommitPages && hasRoom() ? backlogLimits : limits
        if pages < limits.passivePages { return .none }
        return pages < limits.waitingPages || time < restsUntil ? .passive : .waiting
    }

    /// Notes that readers held up a checkpoint: no further wait takes place until the rest time is over.
    ///
    /// - Parameter heldAtPages: the pages carried over, where one reader held up the others for long: the rest
    ///   ends with it.
    mutating func waitedInVain(at time: Double, heldAtPages: Int32? = nil) {
        restsUntil = time + restSeconds
        self.heldAtPages = heldAtPages
    }

    /// Notes how many pages of the log are carried over.
    mutating func carried(_ pages: Int32) {
        guard let held = heldAtPages, pages > held else { return }
        heldAtPages = nil
        restsUntil = -.infinity
    }
}

/// Carries the write-ahead log over to the store, and lets the commit fail where the disk fails at it.
///
/// SQLite's own automatic checkpoints hide their failures: a disk that does not sync would go unnoticed while the
/// log grows. The commit itself has taken place then; positions tell so when the store is opened again. A full disk is no
/// such failure: the log keeps the commit. The first commit that finds no room in the log fails and has no effect.
final class LogCheckpoints: Sendable {
    /// For how long the writer waits for the readers of an older state, at most.
    private static let olderReadersMilliseconds: Int32 = 3000
    /// For how much longer it waits for the readers who came meanwhile: the loop is to be heard of every five seconds.
    private static let newerReadersMilliseconds: Int32 = 1500

    private let decision: Mutex<CheckpointDecision>
    private let busyMilliseconds: Int32

    init(_ decision: CheckpointDecision, busyTimeoutMilliseconds: Int) {
        self.decision = Mutex(decision)
        busyMilliseconds = Int32(clamping: busyTimeoutMilliseconds)
    }

    /// Follows the commits of a connection, which has to keep this object.
    func follow(_ connection: SQLiteConnection) {
        _ = sqlite3_wal_hook(
            connection,
            { object, connection, name, pages in
                guard let object else { return SQLITE_OK }
                return Unmanaged<LogCheckpoints>.fromOpaque(object).takeUnretainedValue()
                    .committed(connection, name, pages)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func committed(_ connection: SQLiteConnection?, _ name: UnsafePointer<CChar>?, _ pages: Int32) -> Int32 {
        let manner = decision.withLock {
            $0.manner(pages: pages, hasRoom: Self.hasRoom(beside: connection, name), at: Self.seconds())
        }
        if manner == .none { return SQLITE_OK }
        let result: Int32
        if manner == .waiting {
            result = waitForReaders(connection, name)
        } else {
            var carried: Int32 = 0
            result = sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, nil, &carried)
            if result == SQLITE_OK { decision.withLock { $0.carried(carried) } }
        }
        // Neither a reader in the way nor a full disk is a failure of this commit: a later one tries again.
        return Self.isOKOrBusy(result) || result & 0xFF == SQLITE_FULL ? SQLITE_OK : result
    }

    /// Carries all of the log over as soon as older readers are gone, and then lets it begin again.
    ///
    /// `SQLITE_CHECKPOINT_RESTART` alone may wait without effect: a new reader that takes over the place of an older
    /// one keeps that place busy. Once all is carried over, new readers do without the log.
    private func waitForReaders(_ connection: SQLiteConnection?, _ name: UnsafePointer<CChar>?) -> Int32 {
        let seconds = Double(min(busyMilliseconds, Self.olderReadersMilliseconds)) / 1000
        let end = Self.seconds() + seconds
        var pages: Int32 = 0
        var carried: Int32 = 0
        var lastStep = (carried: Int32(-1), time: Self.seconds())
        while true {
            let result = sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, &pages, &carried)
            if result == SQLITE_OK, carried >= pages { break }
            if !Self.isOKOrBusy(result) { return result }
            let now = Self.seconds()
            if result == SQLITE_OK, carried != lastStep.carried { lastStep = (carried, now) }
            if now >= end {
                // While the writer waits, short readers end: it is a long one that holds up the rest.
                let isHeld = now - lastStep.time >= seconds / 2
                decision.withLock { $0.waitedInVain(at: now, heldAtPages: isHeld ? carried : nil) }
                return SQLITE_BUSY
            }
            usleep(10_000)
        }
        let remaining = Int32(max(0, end - Self.seconds()) * 1000)
        sqlite3_busy_timeout(connection, min(busyMilliseconds, remaining + Self.newerReadersMilliseconds))
        defer { sqlite3_busy_timeout(connection, busyMilliseconds) }
        let result = sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_RESTART, nil, nil)
        if result != SQLITE_OK { decision.withLock { $0.waitedInVain(at: Self.seconds()) } }
        return result
    }

    /// Whether the store's disk has a gigabyte left, four times the room of a large log.
    private static func hasRoom(beside connection: SQLiteConnection?, _ name: UnsafePointer<CChar>?) -> Bool {
        var room = statvfs()
        guard let path = sqlite3_db_filename(connection, name), statvfs(path, &room) == 0 else { return false }
        return UInt64(room.f_bavail) * UInt64(room.f_frsize) >= 1 << 30
    }

    private static func isOKOrBusy(_ result: Int32) -> Bool {
        let code = result & 0xFF
        return code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED
    }

    private static func seconds() -> Double {
        let time = ContinuousClock.now - start
        return Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
    }

    private static let start = ContinuousClock.now
}
