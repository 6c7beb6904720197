import Glibc
import GraphCore

/// The examination of the HTTP server's port.
extension Examiner {
    /// Tries to bind the port as a worker does, unless one of this store runs.
    func examinePort() throws -> Examination.Outcome {
        let http = configuration.http
        if !http.enabled { return .skipped("http.enabled is false") }
        if http.port == 0 { return .ok("any free port") }
        if !isStoreFaulty {
            if let worker = try status()?.worker { return .ok("the worker listens at \(worker)") }
            if let process = try writer() { return .skipped("process \(process) writes the store") }
        }
        if let error = HTTPServerError(bindingHost: http.host, port: http.port) { throw error }
        return .ok("\(http.host):\(http.port) is free")
    }
}

extension HTTPServerError {
    /// Binds an address for a moment; nil where that succeeds.
    init?(bindingHost host: String, port: Int) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &list) == 0, let address = list?.pointee else {
            self.init(.badAddress, host: host, port: port, reason: "the host name is not known")
            return
        }
        defer { freeaddrinfo(list) }
        let descriptor = socket(address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { if descriptor >= 0 { close(descriptor) } }
        // Connections that have just ended do not keep a server from listening.
        var isOn: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, address.ai_addr, address.ai_addrlen) != 0 || listen(descriptor, 1) != 0 else {
            return nil
        }
        self.init(errno: errno, host: host, port: port)
    }
}
