import Foundation
import GRDB

/// Puts a copy of a backup in the place of a store in a file, in one step for every program that opens it.
///
/// The lease of the old store is held meanwhile, so no worker writes it. A restore that ends early leaves the old store. Its
/// copy is removed by the next one, and an exchange that was begun is completed: see ``StoreSwap``.
package final class StoreRestore {
    /// The name that the old store keeps; nil where there is none to keep.
    package private(set) var kept: String?
    /// The copy of the backup, until it has the store's place.
    package var copyPath: String { swap.rebuilt }
    private var swap: StoreSwap
    private let model: ObjectModel
    private let lock: FileLock
    private let now: Int64
    /// The old store, where there is one that can be read.
    private var old: RetiringStore?
    private var renewed: Int64

    /// How often the lease is prolonged, in microseconds.
    private static let renewal: Int64 = 20_000_000

    /// Takes the store at a path from its writers; of a symbolic link, the store that it leads to.
    ///
    /// - Parameters:
    ///   - keepsOld: whether the old store stays, under another name. One that cannot be read always stays.
    ///   - now: the time in microseconds since 1970 UTC.
    /// - Throws: ``StoreError``; `store.leased` while a worker or another restore has the store, `store.corrupt` where the
    ///   file is a database of another program.
    package init(path: String, model: ObjectModel, keepsOld: Bool, now: Int64) throws(StoreError) {
        let path = StoreSwap.destination(of: path)
        try? FileManager.default.createDirectory(
            at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
        let suffix = Self.unusedSuffix(path, now: now)
        swap = StoreSwap(path: path, newSuffix: ".restore", keptSuffix: suffix)
        (self.model, self.now, renewed) = (model, now, now)
        lock = try swap.takeLock()
        do throws(StoreError) {
            removeCopy()
            try takeOld(keepsOld: keepsOld)
        } catch {
            end()
            throw error
        }
    }

    /// The suffix that migrations give an old store, too. It never names one that is kept already.
    private static func unusedSuffix(_ path: String, now: Int64) -> String {
        let time = Timestamp.text(now).prefix(19).filter { $0 != "-" && $0 != ":" }
        let first = ".backup-\(time)Z"
        let isFree = { (suffix: String) in FileIdentity(path + suffix) == nil }
        if isFree(first) { return first }
        return (2...).lazy.map { "\(first)-\($0)" }.first(where: isFree) ?? first
    }

    private func takeOld(keepsOld: Bool) throws(StoreError) {
        let size = (try? FileManager.default.attributesOfItem(atPath: swap.path)[.size] as? Int) ?? 0
        swap.keepsOld = keepsOld && size > 0
        if size > 0, try !claimOld() {
            swap.keepsOld = true
            // Such a file names no holder of its lease.
            if OpeningGate.isOpen(swap.path) {
                throw StoreError(
                    .leased, "The store at \(swap.path) cannot be read, and another process has it open",
                    remedy: "End it: 'fuser -v \(swap.path)' shows which one it is")
            }
        }
        if swap.keepsOld { kept = swap.kept }
    }

    /// Takes the lease of the old store, or tells that the file cannot be read.
    private func claimOld() throws(StoreError) -> Bool {
        let (store, isStore): (RetiringStore, Bool)
        do throws(StoreError) {
            store = try RetiringStore(path: swap.path, model: model)
            isStore = try store.isStore()
            if isStore { try store.claim() }
        } catch {
            if error.code == .corrupt || error.code == .inputOutput { return false }
            throw error
        }
        guard isStore else { throw StoreError.noStore(in: swap.path) }
        old = store
        return true
    }

    // MARK: The copy

    /// Copies a backup beside the store.
    ///
    /// - Returns: the copy, open and of the program's layout and model. Close it before ``exchange(atStep:)``.
    /// - Throws: ``StoreError``; `store.unavailable` where there is no backup, or it is the store itself.
    package func copy(_ backup: String) throws -> Store {
        if let file = FileIdentity(backup), file == FileIdentity(swap.path) {
            throw StoreError(
                .unavailable, "\(backup) is the store itself", remedy: "Name a backup, or another store.path")
        }
        try StoreBackup.copyFile(backup, to: copyPath)
        try keepLease()
        return try Store.open(path: copyPath, model: model)
    }

    /// Prolongs the lease of the old store if it is time.
    ///
    /// - Throws: ``StoreError`` with code `store.fenced` where a worker has taken it.
    package func keepLease() throws(StoreError) {
        let time = WriterContext.systemTime()
        guard let old, time - renewed >= Self.renewal else { return }
        try old.renewLease()
        renewed = time
    }

    /// The epochs of the old store's history, where it can be read.
    package func oldEpochs() -> HistoryEpochs { (try? old?.historyEpochs()) ?? HistoryEpochs() }

    // MARK: The exchange

    /// Puts the copy, which is closed, in the place of the store.
    ///
    /// - Parameters:
    ///   - epochs: the epochs of its history.
    ///   - atStep: called after each step.
    /// - Throws: ``StoreError``; `store.fenced` where a worker has taken the old store meanwhile, `store.busy` where a
    ///   reader keeps a part of its log.
    package func exchange(_ epochs: HistoryEpochs, atStep: (String) -> Void) throws {
        let oldEpoch = old?.epoch ?? 0
        try MigrationFile(anyFile: copyPath).closing { file in
            try file.leaveLog()
            try file.transaction { database in
                for (key, value) in epochs.metadata { try StoredModel.put(key, value, database) }
                // A writer of the old store that was stopped finds itself fenced here, too.
                try database.execute(
                    sql: "UPDATE _lease SET epoch = max(epoch, ?) + 1, expires = 0", arguments: [oldEpoch])
            }
        }
        try DurableFile.sync(copyPath)
        atStep("copied")
        var waits = false
        if let old {
            guard old.isInPlace else { throw StoreError.displaced(swap.path) }
            try old.renewLease()
            try old.emptyLog()
            // Without a log no program that has found the old file by now looks for one, which would be the new store's.
            waits = !old.leaveLog()
            try old.close()
            self.old = nil
        }
        atStep("closed")
        if !waits { swap.closedSeconds = 0 }
        try swap.perform { step throws(StoreError) in atStep(step.rawValue) }
        // The end of this process would let programs in that wait with the old file.
        if waits { sleep(swap.closedSeconds) }
    }

    /// Gives the store back, whether or not it was replaced. Call it once.
    package func end() {
        old?.releaseLease()
        try? old?.close()
        old = nil
        removeCopy()
        lock.release()
    }

    private func removeCopy() {
        // An exchange that was begun and has failed is completed by the next opening for writing, and needs the copy.
        if swap.isBegun { return }
        DurableFile.removeDatabase(copyPath)
        unlink(copyPath + "-suspect")
    }
}
