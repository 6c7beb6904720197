import Glibc
import NIOCore
import ObjectGraph

/// Says why the HTTP server cannot listen.
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
    }

    /// The kind of failure.
    package let code: Code
    /// The address asked for.
    package let host: String
    /// The port asked for.
    package let port: Int
    /// The system's message.
    package let reason: String

    /// Whether trying again may help: a port may become free.
    package var isRetriable: Bool { code == .portInUse }

    /// The remedy.
    package var remedy: String {
        switch code {
        case .portInUse: "Stop the other program, or choose a port with --set http.port=PORT (0 takes any free one)"
        case .notPermitted: "Choose a port of 1024 or above with --set http.port=PORT"
        case .badAddress: "Choose an address of this machine with --set http.host=ADDRESS, as in 127.0.0.1"
        case .failed: "Choose another http.host or http.port, or turn the server off with --set http.enabled=false"
        }
    }

    /// The address and the system's message.
    package var message: String { "The HTTP server cannot listen on \(host):\(port): \(reason)" }

    init(_ error: any Error, host: String, port: Int) {
        self.host = host
        self.port = port
        guard let error = error as? IOError else {
            code = error is SocketAddressError ? .badAddress : .failed
            reason = error is SocketAddressError ? "the host name is not known" : "\(type(of: error))"
            return
        }
        code =
            switch error.errnoCode {
            case EADDRINUSE: .portInUse
            case EACCES, EPERM: .notPermitted
            case EADDRNOTAVAIL: .badAddress
            default: .failed
            }
        reason = String(cString: strerror(error.errnoCode))
    }
}
