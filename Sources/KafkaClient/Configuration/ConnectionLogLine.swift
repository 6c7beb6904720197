/// Splits a line of librdkafka's log about a connection:
/// `[thrd:…]: ssl://host:9093/bootstrap: reason (after 2ms in state CONNECT)`.
package struct ConnectionLogLine: Sendable {
    /// The broker as the library names it, such as `ssl://host:9093/bootstrap`; empty where the line names none.
    package let broker: String
    /// The reason, without the stage.
    package let reason: String
    /// The part in brackets at the end.
    package let stage: String

    /// Splits a line.
    package init(_ text: String) {
        let line = text.firstRange(of: "]: ").map { text[$0.upperBound...] } ?? text[...]
        guard let end = line.firstRange(of: ": ") else {
            (broker, reason, stage) = ("", String(line), "")
            return
        }
        let rest = line[end.upperBound...]
        let cut = rest.ranges(of: " (after ").last?.lowerBound ?? rest.endIndex
        (broker, reason, stage) = (String(line[..<end.lowerBound]), String(rest[..<cut]), String(rest[cut...]))
    }

    /// The broker's host and port.
    package var node: String {
        let rest = broker.firstRange(of: "://").map { broker[$0.upperBound...] } ?? broker[...]
        return String(rest.prefix { $0 != "/" })
    }
}

extension KafkaError.Code {
    /// Whether the code is of a connection that cannot be made, or broke.
    package var isOfConnection: Bool {
        switch self {
        case .allBrokersDown, .transport, .resolve, .timedOut, .authentication, .tls, .certificateExpired,
            .certificateName, .certificateUntrusted, .certificateRequired, .tlsExpected, .tlsNotExpected:
            true
        default: false
        }
    }
}
