import Foundation

/// Lets one process at a time do something, such as the rebuild of a store.
///
/// It is a lock on a file, and goes with the process that holds it.
package final class FileLock: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Takes the lock.
    ///
    /// - Parameters:
    ///   - path: the file, which is made where there is none.
    ///   - action: what its holder does, for the error: `rebuilds the store at data/store.sqlite`.
    /// - Throws: ``StoreError`` with code `store.leased` while another process has the lock.
    package init(_ path: String, action: String) throws(StoreError) {
        self.path = path
        while true {
            let descriptor = DurableFile.open(path, 0)
            guard descriptor >= 0 else {
                throw StoreError(
                    .unavailable, "Could not make \(path): \(String(cString: strerror(errno)))",
                    remedy: "Check that its folder exists and may be written")
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                Glibc.close(descriptor)
                throw StoreError(.leased, "Another process \(action)", remedy: "Let it finish, or stop it")
            }
            // The one before may have removed the file between the two calls.
            if FileIdentity(descriptor: descriptor) == FileIdentity(path) {
                self.descriptor = descriptor
                return
            }
            Glibc.close(descriptor)
        }
    }

    /// Gives the lock up, with its file; call it once.
    package func release() {
        unlink(path)
        Glibc.close(descriptor)
    }
}
