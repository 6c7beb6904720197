/// Fetches documents over HTTP and HTTPS with libcurl. A request blocks its thread.
///
/// It follows no redirect, uses no proxy, and reads neither the environment nor a file of passwords. So the headers of a
/// request reach only the server that its address names.
package final class HTTPFetcher: Sendable {
    /// The answer of a server, whatever its status.
    package struct Answer: Sendable {
        package let status: Int
        package let body: [UInt8]
    }

    /// The reason why a server gave no answer.
    package enum Failure: Error, Equatable {
        /// The whole time was over.
        case late
        /// The server closed the connection without an answer.
        case closed
        /// The body is longer than allowed.
        case tooLong
        /// There was no connection. The reason names hosts, ports and certificates, and nothing of the request.
        case unreachable(reason: String)
    }

    /// The bounds and the trust of all requests.
    package struct Settings: Sendable {
        /// The file with the authorities that may sign a server's certificate, in PEM; the system's when nil.
        package var caFile: String?
        /// The time for a whole request, from the look-up of the name to the last byte.
        package var timeoutMilliseconds: Int
        /// The longest body.
        package var maximumBytes: Int

        package init(caFile: String?, timeoutMilliseconds: Int, maximumBytes: Int) {
            (self.caFile, self.timeoutMilliseconds, self.maximumBytes) = (caFile, timeoutMilliseconds, maximumBytes)
        }
    }

    private let settings: Settings
    private let headers: [String]
    /// - Parameter headers: the fields of each request, as `name: value`.
    package init(_ settings: Settings, headers: [String]) {
        (self.settings, self.headers) = (settings, headers)
    }

    /// Fetches an address.
    ///
    /// - Throws: the ``Failure`` where there is no whole answer.
    package func get(_ address: String) throws(Failure) -> Answer {
        // Documents are few: an open connection would wait for days, and the server close it meanwhile.
        guard let handle = CurlHandle() else { throw .unreachable(reason: "libcurl does not start") }
        return try handle.get(address, headers: headers, settings)
    }
}
