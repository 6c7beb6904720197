import CLibrdkafka
import Synchronization

/// Remembers why the library could not connect.
///
/// A call that fails gets a "transport failure" only. The library logs the reason, and for a refused certificate
/// OpenSSL's verdict.
final class ConnectionErrorLog: Sendable {
    private struct State {
        var failure: KafkaError?
        /// OpenSSL's last verdict that was not good, by broker.
        var verdicts: [String: Int32] = [:]
    }

    private let state = Mutex(State())
    /// More brokers than that are not told apart.
    private static let maximumVerdictCount = 64

    /// Notes a line of the library's log.
    func note(facility: String, text: String) {
        guard facility == "FAIL" || facility == "ERROR" else { return }
        let line = ConnectionLogLine(text)
        state.withLock { state in
            let verdict = state.verdicts[line.node]
            guard let failure = Self.failure(of: line, verdict: verdict) else { return }
            state.failure = failure
        }
    }

    /// Notes OpenSSL's verdict on a broker's certificate; 0 is good.
    func note(verdict: Int32, broker: String) {
        state.withLock { state in
            if verdict == 0 { return }
            if state.verdicts.count >= Self.maximumVerdictCount { state.verdicts = [:] }
            state.verdicts[broker] = verdict
        }
    }

    /// Forgets everything: a broker has answered.
    func clear() { state.withLock { $0 = State() } }

    /// Returns the reason in place of an error that only says that nothing came back.
    func explain(_ error: KafkaError) -> KafkaError {
        let vague: Set = [KafkaError.Code.transport, .timedOut, .messageTimedOut, .allBrokersDown, .resolve]
        guard vague.contains(error.code), !error.isFatal, let failure = state.withLock({ $0.failure }) else {
            return error
        }
        return failure
    }

    /// Returns the failure that a reason means; nil where the call's own error says as much.
    private static func failure(of line: ConnectionLogLine, verdict: Int32?) -> KafkaError? {
        let (broker, reason, stage) = (line.broker, line.reason, line.stage)
        func failed(_ code: KafkaError.Code, _ message: String) -> KafkaError {
            KafkaError(code, "\(broker): \(message)", isRetriable: code.isRetriable)
        }
        if reason.contains("certificate verify failed") {
            let (code, text) = meaning(of: verdict)
            return failed(code, text)
        }
        if reason.contains("alert certificate required") {
            return failed(.certificateRequired, "the broker asks for a certificate of the client, and got none")
        }
        // Newer versions do not say what it may mean that a connection ends before the first answer.
        let endsBeforeAnswer =
            reason.hasPrefix("Disconnected: connection") && stage.contains("in state APIVERSION_QUERY")
            && !broker.contains("ssl://")
        if endsBeforeAnswer || reason.contains("connecting to a SSL listener") {
            return failed(.tlsExpected, "the broker closed the connection at once, as a listener with TLS does")
        }
        let plaintextSigns = ["PLAINTEXT broker listener", "wrong version number", "unexpected eof while reading"]
        // A listener without TLS may also simply close on bytes that mean nothing to it; one with TLS says why.
        let endsInHandshake =
            reason.hasSuffix("SSL connection closed by peer") && stage.contains("in state SSL_HANDSHAKE")
        if endsInHandshake || plaintextSigns.contains(where: { reason.contains($0) }) {
            return failed(
                .tlsNotExpected, "the TLS handshake failed, as it does with a listener without TLS (\(reason))")
        }
        if reason.contains("SASL") { return failed(.authentication, reason) }
        if reason.contains("SSL") { return failed(.tls, reason) }
        if reason.contains("Connect to") || reason.contains("resolve") {
            return failed(reason.contains("resolve") ? .resolve : .transport, reason)
        }
        return nil
    }

    /// Returns the meaning of a verdict. OpenSSL's x509_vfy.h lists the verdicts.
    private static func meaning(of verdict: Int32?) -> (KafkaError.Code, String) {
        switch verdict {
        case 9: (.certificateExpired, "the broker's certificate is not valid yet")
        case 10: (.certificateExpired, "the broker's certificate has expired")
        case 62, 64: (.certificateName, "the broker's certificate is for another name")
        case let verdict?:
            (.certificateUntrusted, "the broker's certificate is not trusted (OpenSSL's verdict \(verdict))")
        case nil: (.certificateUntrusted, "the broker's certificate could not be verified")
        }
    }
}

extension NativeCallbacks {
    /// Has the library report OpenSSL's verdicts; changes none of them.
    func watchCertificates(on configuration: OpaquePointer, _ properties: [String: String]) {
        guard (properties["security.protocol"] ?? "").lowercased().contains("ssl") else { return }
        // A library without TLS refuses the callback here, and the protocol when the client is made.
        _ = rd_kafka_conf_set_ssl_cert_verify_cb(configuration) { _, broker, _, verdict, _, _, _, _, _, opaque in
            let verdict = verdict?.pointee ?? 0
            NativeCallbacks.from(opaque)?.errorLog.note(
                verdict: verdict, broker: broker.map { String(cString: $0) } ?? "")
            return verdict == 0 ? 1 : 0
        }
    }
}
