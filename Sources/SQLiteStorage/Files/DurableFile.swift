import Foundation

/// Makes files whose mode is theirs from the beginning, and names that outlast a loss of power.
///
/// No call follows a link at the end of its path: in a folder that others may write, such a link leads where they want.
package enum DurableFile {
    /// Only the owner reads and writes the file, whatever the `umask`.
    package static let privateMode: mode_t = 0o600

    /// Opens a file for reading and writing, and makes it where there is none. Returns a negative number on failure.
    static func open(_ path: String, _ flags: Int32, mode: mode_t = privateMode) -> Int32 {
        Glibc.open(path, flags | O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, mode)
    }

    /// Makes an empty file that only its owner reads, and refuses a name that is taken.
    ///
    /// - Throws: ``StoreError`` with the code `store.unavailable`.
    package static func make(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_EXCL)
        guard descriptor >= 0 else { throw failure("make \(path)") }
        Glibc.close(descriptor)
    }

    /// Writes a file that has its name only when it is whole and on the disk. A former file of the name goes.
    ///
    /// - Parameter mode: the file's mode, which the `umask` may narrow.
    /// - Throws: ``StoreError`` with the code `store.unavailable`.
    package static func write(_ text: String, to path: String, mode: mode_t = privateMode) throws(StoreError) {
        let draft = path + ".new"
        unlink(draft)
        let descriptor = open(draft, O_EXCL, mode: mode)
        guard descriptor >= 0 else { throw failure("make \(draft)") }
        let isWritten = write(Array(text.utf8), to: descriptor)
        let reason = errno
        Glibc.close(descriptor)
        do throws(StoreError) {
            if !isWritten {
                errno = reason
                throw failure("write \(draft)")
            }
            try replace(path, with: draft)
        } catch {
            unlink(draft)
            throw error
        }
    }

    /// Removes a database with the files beside it.
    static func removeDatabase(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
    }

    /// Writes all bytes to an open file, and tells whether that was possible.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Gives a whole file the name of another, which goes; both the bytes and the name are on the disk then.
    ///
    /// - Throws: ``StoreError`` with the code `store.unavailable`.
    package static func replace(_ path: String, with other: String) throws(StoreError) {
        try sync(other)
        guard rename(other, path) == 0 else { throw failure("rename \(other)") }
        try syncFolder(of: path)
    }

    /// Has the system write the names in a file's folder to the disk.
    static func syncFolder(of path: String) throws(StoreError) { try sync(folder(of: path)) }

    /// Makes a folder that only its owner enters, and the folders above it by the `umask`.
    ///
    /// - Throws: ``StoreError`` with the code `store.unavailable`.
    package static func makeFolder(_ path: String) throws(StoreError) {
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue { return }
        try? FileManager.default.createDirectory(atPath: folder(of: path), withIntermediateDirectories: true)
        guard mkdir(path, 0o700) == 0 else { throw failure("make the folder \(path)") }
        try syncFolder(of: path)
    }

    /// Makes a folder of a name that nobody knows before, which only its owner enters.
    ///
    /// - Parameters:
    ///   - parent: a folder that others may write, such as the system's for temporary files.
    ///   - prefix: the beginning of the name.
    /// - Throws: ``StoreError`` with the code `store.unavailable`.
    package static func makeUniqueFolder(in parent: String, prefix: String) throws(StoreError) -> String {
        let path = "\(parent)/\(prefix)\(UUID().uuidString.lowercased())"
        guard mkdir(path, 0o700) == 0 else { throw failure("make the folder \(path)") }
        return path
    }

    private static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// Has the system write a file or a folder to the disk.
    static func sync(_ path: String) throws(StoreError) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { Glibc.close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else { throw failure("write \(path) to the disk") }
    }

    private static func failure(_ action: String) -> StoreError {
        StoreError(
            .unavailable, "Could not \(action): \(String(cString: strerror(errno)))",
            remedy: "Check the disk, and that the folder exists and may be written")
    }
}
