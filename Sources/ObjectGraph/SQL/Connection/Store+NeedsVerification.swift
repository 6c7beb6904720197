import CSQLiteSettings
import Foundation

/// A disk that failed once may have lost what it said it had written: such a store is verified before it is written
/// again. A failed fsync is never tried again.
extension Store {
    /// The file beside the store that says its disk failed, or that damage was found.
    var suspicionPath: String { path + "-suspect" }

    /// Tells whether the disk failed under the store, or damage was found, and nobody has verified it since.
    public var needsVerification: Bool {
        hasFailed.load(ordering: .acquiring) || FileManager.default.fileExists(atPath: suspicionPath)
    }

    /// Marks the store where the error says that its disk failed or that it is damaged.
    func note(_ error: StoreError) {
        guard error.isDiskFailure else { return }
        hasFailed.store(true, ordering: .releasing)
        // The disk may refuse this as well; then the next start knows no better than SQLite does.
        _ = FileManager.default.createFile(
            atPath: suspicionPath, contents: Data("\(error.code.rawValue)\n".utf8),
            attributes: [.posixPermissions: 0o600])
    }

    /// Verifies the whole store where it is suspect, and takes the mark away where it is sound.
    ///
    /// - Throws: ``StoreError`` with code `store.corrupt` where it is not.
    func verifyIfNeeded() throws(StoreError) {
        guard needsVerification else { return }
        let report: VerificationReport
        do { report = try verify() } catch { throw StoreError(error, action: "verify the store after a failed disk") }
        guard report.isSound else {
            throw StoreError(
                .corrupt, "After a failure of its disk the store has \(report.problemCount) problems",
                remedy: "Mend it with 'verify --repair', restore a copy, or rebuild it by replay")
        }
        try? FileManager.default.removeItem(atPath: suspicionPath)
        hasFailed.store(false, ordering: .releasing)
    }

    /// Lets the writing connection be closed without SQLite's checkpoint. The others only read, and make none.
    func keepLogIfUnverified() {
        guard needsVerification else { return }
        // A store that is closed already has no connection.
        try? onWriter { _ = sqlite3_leave_log_on_close($0) }
    }
}
