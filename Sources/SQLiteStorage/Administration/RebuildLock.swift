import Foundation

/// Keeps a second rebuild of a store out, from the first look at it until the exchange is done.
///
/// It is a lock on the file `STORE.rebuild.lock`, and goes with the process that holds it.
public final class RebuildLock: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Takes the lock.
    ///
    /// - Throws: ``StoreError`` with code `store.leased` while another process rebuilds the store.
    public init(_ swap: StoreSwap) throws(StoreError) {
        path = swap.lock
        while true {
            let descriptor = Glibc.open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw StoreError(
                    .unavailable, "Could not make \(path): \(String(cString: strerror(errno)))",
                    remedy: "Check that the folder of the store may be written")
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                Glibc.close(descriptor)
                throw StoreError(
                    .leased, "Another process rebuilds the store at \(swap.path)", remedy: "Let it finish, or stop it")
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
    public func release() {
        unlink(path)
        Glibc.close(descriptor)
    }
}
