import Glibc
import GraphCore
import NIOCore

/// Says why the HTTP server cannot listen, or listens no more.
package struct HTTPServerError: CodedError, Equatable {
    /// The kind of failure; the raw value is stable.
    package enum Code: String, Sendable {
        /// Another program listens on the port.
        case portInUse = "http.port_in_use"
        /// The port is reserved for privileged users.
        case notPermitted = "http.not_permitted"
        /// The address is not one of this machine, or no address at all.
        case badAddress = "http.bad_address"
        /// Something else failed.
        case failed = "http.failed"
        /// The server has listened, and takes no connection any more.
        case stopped = "http.stopped"
    }

    /// The kind of failure.
    package let code: Code
    /// The address asked for.
    package let host: String
    /// The port asked for.
    package let port: Int
    /// The system's message.
    package let reason: String

    /// Whether trying again may help: a port may become free, and a server that listened can listen again.
    package var isRetriable: Bool { code == .portInUse || code == .stopped }

    /// The remedy.
    package var remedy: String {
        switch code {
        case .portInUse: "Stop the other program, or choose a port with --set http.port=PORT (0 takes any free one)"
        case .notPermitted: "Choose a port of 1024 or above with --set http.port=PORT"
        case .badAddress: "Choose an address of this machine with --set http.host=ADDRESS, as in 127.0.0.1"
        case .stopped: "Start again. If the server stops again, report this with the log"
        case .failed: "Choose another http.host or http.port, or turn the server off with --set http.enabled=false"
        }
    }

    /// The address and the system's message.
    package var message: String {
        code == .stopped
            ? "The HTTP server on \(host):\(port) has stopped to take connections: \(reason)"
            : "The HTTP server cannot listen on \(host):\(port): \(reason)"
    }

    init(_ error: any Error, host: String, port: Int, wasListening: Bool) {
        if wasListening {
            self.init(.stopped, host: host, port: port, reason: "\(type(of: error))")
        } else if let error = error as? IOError {
            self.init(errno: error.errnoCode, host: host, port: port)
        } else if error is SocketAddressError {
            self.init(.badAddress, host: host, port: port, reason: "the host name is not known")
        } else {
            self.init(.failed, host: host, port: port, reason: "\(type(of: error))")
        }
    }

    init(errno: Int32, host: String, port: Int) {
        let code: Code =
            switch errno {
            case EADDRINUSE: .portInUse
            case EACCES, EPERM: .notPermitted
            case EADDRNOTAVAIL: .badAddress
            default: .failed
            }
        self.init(code, host: host, port: port, reason: String(cString: strerror(errno)))
    }

    init(_ code: Code, host: String, port: Int, reason: String) {
        (self.code, self.host, self.port, self.reason) = (code, host, port, reason)
    }
}
