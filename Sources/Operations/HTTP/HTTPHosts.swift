import Hummingbird
import IngestCore

/// The names by which the server may be asked: addresses, `localhost`, and some others.
///
/// A page whose name leads to this address by DNS rebinding asks by another name.
struct HTTPHosts: Sendable, Equatable {
    private let names: [String]

    init(_ names: [String]) { self.names = names.map { $0.lowercased() } }

    /// The names of the configuration.
    init(_ http: HTTPConfiguration) {
        let allowed = http.allowedHosts?.split(separator: ",").map { $0.filter { !$0.isWhitespace } } ?? []
        self.init([http.host] + allowed)
    }

    /// Tells whether a request means the server.
    func admits(_ request: Request) -> Bool { admits(request.head.authority ?? "") }

    /// Tells whether the server is meant by the value of `Host`, whose port does not matter.
    func admits(_ authority: String) -> Bool {
        let isBracketed = authority.hasPrefix("[")
        let host =
            isBracketed
            ? String(authority.dropFirst().prefix { $0 != "]" })
            : String(authority.prefix { $0 != ":" }).lowercased()
        if host == "localhost" || names.contains(host) { return true }
        return isBracketed ? host.contains(":") : !host.isEmpty && host.allSatisfy { $0 == "." || $0.isNumber }
    }
}
