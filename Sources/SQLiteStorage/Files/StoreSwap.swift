import CSQLiteSettings
import Foundation

/// Puts a store that was built beside another in its place, in one step for every program that opens it.
///
/// A file `STORE.swap` says from before the first step until after the last that a swap is under way, and of which
/// file. A program that opens the store for writing completes such a swap first, so it may be interrupted anywhere. A
/// program that has the old file open keeps the old store. The swap removes its `STORE-wal` and `STORE-shm`, which SQLite
/// would take for the new store's.
public struct StoreSwap: Sendable {
    /// The last finished step.
    public enum Step: String, Sendable, CaseIterable {
        /// The swap is on record.
        case begun
        /// The files beside both stores are gone.
        case detached
        /// Where names cannot be exchanged: the old store has the name that it keeps, and nothing stands at the path.
        case parted
        /// The new store stands at the path.
        case exchanged
        /// The old one has the name that it keeps.
        case kept
    }

    /// The store's path.
    public let path: String
    /// Whether the file system may exchange two names; without it there are two renames.
    var exchanges = true
    /// Whether the old store stays under another name.
    var keepsOld = true
    /// The ending of the new store's name, behind the store's path.
    private var newSuffix = Self.rebuildSuffixes.new
    /// The ending of the name that the old store keeps.
    private var keptSuffix = Self.rebuildSuffixes.kept
    private static let rebuildSuffixes = (new: ".rebuild", kept: ".before-rebuild")
    /// For how long the old store takes no new connections, in seconds: longer than they wait for a lock by default.
    var closedSeconds: UInt32 = 6

    /// Makes a swap of the store at a path; of a symbolic link, the store that it leads to.
    public init(path: String) { self.path = Self.destination(of: path) }

    /// Makes a swap for other work than a rebuild.
    ///
    /// - Parameters:
    ///   - newSuffix: the ending of the new store's name, behind the store's path.
    ///   - keptSuffix: the ending of the name that the old store keeps.
    init(path: String, newSuffix: String, keptSuffix: String) {
        self.init(path: path)
        (self.newSuffix, self.keptSuffix) = (newSuffix, keptSuffix)
    }

    /// Follows symbolic links as SQLite does, which keeps the files beside a store where the store is.
    static func destination(of path: String) -> String {
        var path = path
        // As many as Linux follows.
        for _ in 0..<40 {
            guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            path = next.hasPrefix("/") ? next : folder + "/" + next
        }
        return path
    }

    /// Where the new store is built.
    public var rebuilt: String { path + newSuffix }
    /// Where the old store stays.
    public var kept: String { path + keptSuffix }
    /// The files beside a database file, in words for a remedy.
    public static let sideFiles = "the files beside it that end in -wal and -shm"
    /// The lock of a rebuild or a restore.
    private var lock: String { path + ".rebuild.lock" }
    /// The record of a swap under way.
    var record: String { path + ".swap" }
    /// Whether a swap is on record, and so bound to happen.
    var isBegun: Bool { FileIdentity(record) != nil }

    /// Swaps the stores, both closed and with nothing left in their logs, the old one's lease held by the caller.
    ///
    /// - Parameter atStep: called after each step.
    /// - Throws: ``StoreError``.
    public func perform(atStep: (Step) throws(StoreError) -> Void = { _ in }) throws(StoreError) {
        guard let new = FileIdentity(rebuilt) else { throw failure("find \(rebuilt)") }
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: kept, isDirectory: &isFolder), isFolder.boolValue {
            throw StoreError(
                .unavailable, "A folder stands at \(kept), where the old store is to stay",
                remedy: "Move the folder away")
        }
        let draft = record + ".new"
        let descriptor = DurableFile.open(draft, O_TRUNC)
        guard descriptor >= 0 else { throw failure("make \(draft)") }
        defer { Glibc.close(descriptor) }
        // The lock keeps others from completing a swap that is not interrupted; it ends with this process.
        guard flock(descriptor, LOCK_EX) == 0 else { throw failure("lock \(draft)") }
        let isWritten = DurableFile.write(Array(text(new).utf8), to: descriptor)
        guard isWritten, fsync(descriptor) == 0, rename(draft, record) == 0
        else { throw failure("write \(record)") }
        syncFolder()
        try atStep(.begun)
        try carryOut(new, atStep)
    }

    /// Keeps other rebuilds and restores of the store out until the lock is released, and completes an interrupted swap.
    ///
    /// - Throws: ``StoreError`` with code `store.leased` while another process has the lock.
    package func takeLock() throws(StoreError) -> FileLock {
        let lock = try FileLock(lock, action: "rebuilds or restores the store at \(path)")
        do throws(StoreError) { try completeIfInterrupted() } catch {
            lock.release()
            throw error
        }
        return lock
    }

    /// Completes a swap of this store that was interrupted, as every opening for writing does.
    ///
    /// - Throws: ``StoreError``.
    public func completeIfInterrupted() throws(StoreError) { try Self.complete(path: path) }

    /// Completes a swap that was interrupted; does nothing where there is none, and waits for one under way.
    static func complete(path: String) throws(StoreError) {
        var swap = StoreSwap(path: path)
        let descriptor = Glibc.open(swap.record, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0 { return }
        defer { Glibc.close(descriptor) }
        guard flock(descriptor, LOCK_EX) == 0 else { throw swap.failure("lock \(swap.record)") }
        // Another process may have completed it meanwhile.
        guard let own = FileIdentity(descriptor: descriptor), own == FileIdentity(swap.record) else { return }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        // The number of a device may change with a reboot; the record is on the same one as the stores.
        let text = String(decoding: bytes[..<max(0, count)], as: UTF8.self)
        guard let new = swap.read(text, device: own.device) else { throw swap.failure("read \(swap.record)") }
        try swap.carryOut(new, { _ in })
    }

    /// Returns the text of the record: the new store's file, and the names unless the swap is a rebuild's.
    private func text(_ new: FileIdentity) -> String {
        if (newSuffix, keptSuffix) == Self.rebuildSuffixes, keepsOld { return new.text }
        return ([new.text, newSuffix] + (keepsOld ? [keptSuffix] : [])).joined(separator: " ")
    }

    /// Reads the names from a record's text, and returns the new store's file; nil where the text is no record.
    private mutating func read(_ text: String, device: UInt64) -> FileIdentity? {
        let words = text.split(separator: " ").map { String($0) }
        // The names stay beside the store.
        guard words.count <= 4, !text.contains("/") else { return nil }
        if words.count > 2 {
            newSuffix = words[2]
            keepsOld = words.count == 4
            if keepsOld { keptSuffix = words[3] }
        }
        return FileIdentity(text: words.prefix(2).joined(separator: " "), device: device)
    }

    private func carryOut(
        _ new: FileIdentity, _ atStep: (Step) throws(StoreError) -> Void
    ) throws(StoreError) {
        if FileIdentity(path) != new {
            guard FileIdentity(rebuilt) == new else {
                throw StoreError(
                    .unavailable, "\(record) speaks of a rebuilt store that is neither at \(path) nor at \(rebuilt)",
                    remedy: "Files were moved by hand: put the store that you want at \(path), and remove \(record)")
            }
            let gate = OpeningGate(path)
            for store in [path, rebuilt] { removeSideFiles(store) }
            do throws(StoreError) {
                try atStep(.detached)
                try exchange(atStep)
                syncFolder()
            } catch {
                gate?.open()
                throw error
            }
            gate?.open(afterSeconds: closedSeconds)
        }
        try atStep(.exchanged)
        // The old one, if it is not there already.
        if !keepsOld {
            unlink(path + "-suspect")
        } else if let old = FileIdentity(rebuilt), old != new {
            removeSideFiles(kept)
            guard rename(rebuilt, kept) == 0 else { throw failure("rename \(rebuilt)") }
            removeSideFiles(rebuilt)
            rename(path + "-suspect", kept + "-suspect")
        }
        syncFolder()
        try atStep(.kept)
        unlink(record)
        syncFolder()
    }

    /// Gives the new store the path, and the old one the name that the new one had.
    private func exchange(_ atStep: (Step) throws(StoreError) -> Void) throws(StoreError) {
        if !keepsOld {
            guard rename(rebuilt, path) == 0 else { throw failure("rename \(rebuilt)") }
            return
        }
        if exchanges, file_exchange(path, rebuilt) == 0 { return }
        // A file system that cannot: the old one goes to the name that it keeps, then the new one takes its place. In
        // between there is no store at the path, until this goes on or somebody completes it.
        if FileIdentity(path) != nil {
            removeSideFiles(kept)
            guard rename(path, kept) == 0 else { throw failure("rename \(path)") }
            try atStep(.parted)
        }
        guard rename(rebuilt, path) == 0 else { throw failure("rename \(rebuilt)") }
    }

    private func removeSideFiles(_ store: String) {
        // SQLite would undo a transaction of the old store in the new one, should a journal stay.
        for suffix in ["-wal", "-shm", "-journal"] { unlink(store + suffix) }
    }

    /// The swap goes on where the system fails at this: the record completes an interrupted one.
    private func syncFolder() { try? DurableFile.syncFolder(of: path) }

    private func failure(_ action: String) -> StoreError {
        StoreError(
            .unavailable, "Could not \(action): \(String(cString: strerror(errno)))",
            remedy: "Check that the folder of the store may be written")
    }
}

/// Tells a file from another one of the same name.
struct FileIdentity: Equatable {
    let device: UInt64
    let number: UInt64

    /// Looks at the file of a name; nil where there is none.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }

    /// Reads a file's number from a text; the device comes from the caller, not from the text.
    init?(text: String, device: UInt64) {
        let parts = text.split(separator: " ").compactMap { UInt64($0) }
        guard parts.count == 2 else { return nil }
        (self.device, number) = (device, parts[1])
    }

    var text: String { "\(device) \(number)" }
}

/// Keeps new connections out of a database file while its name goes to another one.
///
/// It holds SQLite's pending lock, which every connection needs for a moment when it first reads. One that has opened
/// the old file but not its log by then would otherwise take the log of the new store for its own. Connections that
/// are further go on.
struct OpeningGate {
    private let descriptor: Int32
    private static let pendingByte: off_t = 0x4000_0000
    /// The number of lock bytes: pending, reserved, and the shared ones that a connection locks for as long as it uses
    /// a log.
    private static let lockCount: off_t = 512
    /// F_OFD_GETLK and F_OFD_SETLK: locks that belong to the open file, not to the process.
    private static let (findOpenFileLock, setOpenFileLock): (Int32, Int32) = (36, 37)

    /// Tells whether another process has a database file open.
    static func isOpen(_ path: String) -> Bool {
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
        if descriptor < 0 { return false }
        defer { Glibc.close(descriptor) }
        var lock = writeLock(length: lockCount)
        return fcntl(descriptor, findOpenFileLock, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }

    private static func writeLock(length: off_t) -> Glibc.flock {
        var lock = Glibc.flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = pendingByte
        lock.l_len = length
        return lock
    }

    init?(_ path: String) {
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
        if descriptor < 0 { return nil }
        var lock = Self.writeLock(length: 1)
        var isLocked = false
        for _ in 0..<500 where !isLocked {
            isLocked = fcntl(descriptor, Self.setOpenFileLock, &lock) == 0
            if !isLocked { usleep(10_000) }
        }
        self.descriptor = descriptor
        // A connection that was about to open the log has done so by then.
        usleep(20_000)
    }

    /// Lets connections in again.
    ///
    /// - Parameter seconds: how long connections that wait with the old file may take to give up.
    func open(afterSeconds seconds: UInt32 = 0) {
        let descriptor = descriptor
        if seconds == 0 {
            Glibc.close(descriptor)
            return
        }
        Thread.detachNewThread {
            sleep(seconds)
            Glibc.close(descriptor)
        }
    }
}
