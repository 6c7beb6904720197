import Dispatch
import Glibc

/// Is a plain TCP connection to the loopback address, for clients that misbehave.
///
/// Calls that wait run on a queue of their own, so that they do not hold up the tasks of other tests.
final class RawConnection: Sendable {
    private let descriptor: Int32

    init?(port: Int) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // The object is complete, so 'deinit' closes the descriptor here too. A second close would hit another's.
        guard result == 0 else { return nil }
        // A limit on every wait, which no slow machine reaches.
        var limit = timeval(tv_sec: 3600, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Makes the receive buffer small, so that the server soon sees a reader that does not read.
    func shrinkReceiveBuffer() {
        var size: Int32 = 4_096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Lets the end of the connection be a reset, as of a process that is killed.
    func resetAtEnd() {
        var end = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &end, socklen_t(MemoryLayout<linger>.size))
    }

    /// Sends text; false when the server has closed the connection.
    @discardableResult
    func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Whether the server has closed the connection, after an answer that was read.
    var isClosed: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || (count < 0 && errno == ECONNRESET)
    }

    /// Reads until the server closes; nil when it did not within the limit.
    func readToEnd() async -> String? {
        await waiting { descriptor in
            var all: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count == 0 || (count < 0 && errno == ECONNRESET) { return String(decoding: all, as: UTF8.self) }
                guard count > 0 else { return nil }
                all.append(contentsOf: buffer[..<count])
            }
        }
    }

    /// Reads until the text has come; nil when the connection ended before.
    func read(until end: String) async -> String? {
        await waiting { descriptor in
            var all: [UInt8] = []
            var byte: UInt8 = 0
            while recv(descriptor, &byte, 1, 0) == 1 {
                all.append(byte)
                if byte == end.utf8.last, String(decoding: all, as: UTF8.self).hasSuffix(end) {
                    return String(decoding: all, as: UTF8.self)
                }
            }
            return nil
        }
    }

    private func waiting<Value: Sendable>(_ body: @escaping @Sendable (Int32) -> Value) async -> Value {
        let descriptor = descriptor
        return await withCheckedContinuation { continuation in
            let queue = DispatchQueue(label: "raw-connection")
            queue.async { [self] in
                // Keeps the connection open while the call waits.
                withExtendedLifetime(self) { continuation.resume(returning: body(descriptor)) }
            }
        }
    }
}

/// Is an answer, taken apart.
struct RawAnswer {
    let status: Int
    let headers: [String: String]
    let body: String

    init?(_ text: String?) {
        guard let text, let split = text.firstRange(of: "\r\n\r\n") else { return nil }
        let lines = text[..<split.lowerBound].split(separator: "\r\n")
        guard let first = lines.first, let status = Int(first.split(separator: " ").dropFirst().first ?? "") else {
            return nil
        }
        self.status = status
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }
        self.headers = headers
        body = String(text[split.upperBound...])
    }

    /// Asks once on a connection of its own.
    static func get(
        _ path: String, port: Int, method: String = "GET", host: String = "localhost"
    ) async -> RawAnswer? {
        guard let connection = RawConnection(port: port) else { return nil }
        connection.send("\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
        return RawAnswer(await connection.readToEnd())
    }
}
