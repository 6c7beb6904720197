import Foundation

/// A port of the loopback interface that no other test takes while the object lives, in this process or another.
///
/// It lies below the ports that the kernel gives to outgoing connections, so that none of those takes it while a broker
/// is down. A lock on a file keeps other test processes and the fault harness away.
public final class ReservedPort: Sendable {
    /// The port's number.
    public let number: Int
    private let lock: Int32

    /// Reserves a port, or throws where none is free.
    public init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ingest-test-ports")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for _ in 0..<1000 {
            let candidate = Int.random(in: 10_000..<32_000)
            let descriptor = open(folder.appending(path: "\(candidate)").path, O_CREAT | O_RDWR | O_CLOEXEC, 0o666)
            if descriptor < 0 { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.canListen(candidate) {
                (number, lock) = (candidate, descriptor)
                return
            }
            close(descriptor)
        }
        throw BrokerProcess.Failure(description: "no free port on the loopback interface")
    }

    deinit { close(lock) }

    private static func canListen(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = BrokerProcess.loopback(port: port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
