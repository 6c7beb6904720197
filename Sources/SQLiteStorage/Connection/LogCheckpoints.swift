import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// Decides after each commit how the write-ahead log is carried over to the store.
///
/// A passive checkpoint waits for nobody, and stops at a reader whose snapshot is older. Where readers follow on
/// one another there is always such a one, and the log would grow for as long as they come. So at some size the writer
/// waits for the current readers, after which the log begins again. Who reads for longer than that is not waited
/// for again before a while has passed. Source: sqlite.org/wal.html, "Avoiding Excessively Large WAL Files".
struct CheckpointDecision: Sendable {
    enum Manner: Equatable { case none, passive, waiting }

    /// The log's pages at which it is carried over, and at which readers are waited for.
    var passivePages: Int32 = 16_000, waitingPages: Int32 = 64_000
    /// How long a wait in vain puts the next one off.
    var restSeconds = 30.0
    private var restsUntil = -Double.infinity

    init() {}

    /// How to carry a log of so many pages over, at a time in seconds of a monotonic clock.
    func manner(pages: Int32, at time: Double) -> Manner {
        if pages < passivePages { return .none }
        return pages < waitingPages || time < restsUntil ? .passive : .waiting
    }

    /// Takes a wait in vain.
    mutating func waitedInVain(at time: Double) { restsUntil = time + restSeconds }
}

/// Carries the write-ahead log over to the store, and lets the commit fail where the disk fails at it.
///
/// SQLite's own automatic checkpoints hide their failures: a disk that does not sync would go unnoticed while the
/// log grows. The commit itself has taken place then; positions tell so when the store is opened again. A full disk is no
/// such failure: the log keeps the commit. The first commit that finds no room in the log fails and has no effect.
final class LogCheckpoints: Sendable {
    /// For how long readers are waited for at most: the loop is to be heard of every five seconds.
    private static let waitMilliseconds: Int32 = 3000

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
        let manner = decision.withLock { $0.manner(pages: pages, at: Self.seconds()) }
        if manner == .none { return SQLITE_OK }
        var result = SQLITE_OK
        if manner == .waiting {
            result = waitForReaders(connection, name)
            if result != SQLITE_OK { decision.withLock { $0.waitedInVain(at: Self.seconds()) } }
        } else {
            result = sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        }
        // Neither a reader in the way nor a full disk is a failure of this commit: a later one tries again.
        return Self.isOKOrBusy(result) || result & 0xFF == SQLITE_FULL ? SQLITE_OK : result
    }

    /// Carries all of the log over as soon as older readers are gone, and then lets it begin again.
    ///
    /// `SQLITE_CHECKPOINT_RESTART` alone may wait in vain: a new reader that takes over the place of an older one
    /// keeps that place busy. Once all is carried over, new readers do without the log.
    private func waitForReaders(_ connection: SQLiteConnection?, _ name: UnsafePointer<CChar>?) -> Int32 {
        let end = Self.seconds() + Double(min(busyMilliseconds, Self.waitMilliseconds)) / 1000
        var pages: Int32 = 0
        var done: Int32 = 0
        while true {
            let result = sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, &pages, &done)
            if result == SQLITE_OK, done >= pages { break }
            if !Self.isOKOrBusy(result) { return result }
            if Self.seconds() >= end { return SQLITE_BUSY }
            usleep(10_000)
        }
        sqlite3_busy_timeout(connection, Int32(max(0.1, end - Self.seconds()) * 1000))
        defer { sqlite3_busy_timeout(connection, busyMilliseconds) }
        return sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_RESTART, nil, nil)
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
