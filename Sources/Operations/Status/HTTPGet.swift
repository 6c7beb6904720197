import Glibc
import IngestCore

/// Gets a path from a worker's HTTP server, on a blocking socket: a client library would be larger than the rest.
struct HTTPGet {
    let host: String
    let port: Int
    let bearerToken: String?

    /// Makes a client of the configured server, which is asked on this machine where it listens everywhere.
    init(_ configuration: HTTPConfiguration) {
        host = ["0.0.0.0", "::"].contains(configuration.host) ? "127.0.0.1" : configuration.host
        port = configuration.port
        bearerToken = configuration.bearerToken
    }

    /// The server's URL.
    var address: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// The sentence about an answer other than 200. For 401 it says what to do about the token.
    func refusal(_ path: String = "", code: Int) -> String {
        let reason =
            switch (code, bearerToken) {
            case (401, nil): ": it requires a token. Set http.bearerToken"
            case (401, _?): ": the token in http.bearerToken does not match its own"
            default: ""
            }
        return "\(address)\(path) answers with \(code)\(reason)"
    }

    /// The time after which a server that says nothing is given up.
    private static let silenceSeconds = 5
    /// The longest answer that is read, in bytes.
    private static let maximumBytes = 16 << 20

    /// Returns the answer's code and body; nil where nobody answers in HTTP.
    func answer(_ path: String) -> (code: Int, body: [UInt8])? {
        guard let descriptor = connected() else { return nil }
        defer { close(descriptor) }
        let authorization = bearerToken.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        // An answer to 1.0 is not cut into chunks.
        let request = "GET \(path) HTTP/1.0\r\nHost: localhost\r\n\(authorization)Connection: close\r\n\r\n"
        var rest = Array(request.utf8)
        while !rest.isEmpty {
            let count = send(descriptor, rest, rest.count, Int32(MSG_NOSIGNAL))
            if count <= 0 { return nil }
            rest.removeFirst(count)
        }
        return Self.parse(Self.read(descriptor))
    }

    /// Splits an answer at its empty line.
    static func parse(_ answer: [UInt8]) -> (code: Int, body: [UInt8])? {
        guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let words = String(decoding: answer[..<end.lowerBound], as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard words.count > 1, words[0].hasPrefix("HTTP/1."), let code = Int(words[1]) else { return nil }
        return (code, Array(answer[end.upperBound...]))
    }

    private static func read(_ descriptor: Int32) -> [UInt8] {
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while answer.count < maximumBytes {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { break }
            answer += buffer[..<count]
        }
        return answer
    }

    private func connected() -> Int32? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &list) == 0 else { return nil }
        defer { freeaddrinfo(list) }
        var next = list
        while let address = next?.pointee {
            next = address.ai_next
            let type = address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(address.ai_family, type, address.ai_protocol)
            if descriptor < 0 { continue }
            var limit = timeval(tv_sec: Self.silenceSeconds, tv_usec: 0)
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
            }
            if connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return descriptor }
            close(descriptor)
        }
        return nil
    }
}
