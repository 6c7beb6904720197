import Foundation
import KafkaClient
import TestSupport
import Testing

/// TLS in front of a real broker: what works, and how each failure is told.
@Suite(.serialized, .timeLimit(.minutes(60))) struct TLSTests {
    private let broker: BrokerProcess
    private let certificates: TestCertificates

    init() throws {
        broker = try BrokerProcess(.noida)
        certificates = try TestCertificates()
    }

    private func configuration(_ port: Int, _ properties: [String: String] = [:]) -> KafkaConfiguration {
        let defaults = [
            "bootstrap.servers": "localhost:\(port)", "broker.address.family": "v4", "security.protocol": "ssl",
            "ssl.ca.location": certificates.authority,
        ]
        return KafkaConfiguration(defaults.merging(properties) { $1 })
    }

    private func good() throws -> TLSFront {
        try TLSFront(broker, certificate: certificates.make("good", for: "DNS:localhost,IP:127.0.0.1"))
    }

    /// The error that a look at the cluster ends with.
    private func failure(_ configuration: KafkaConfiguration) throws -> KafkaError {
        let admin = try Admin(configuration: configuration)
        var error: KafkaError?
        // The connection has to be tried once to tell more than that there is no answer.
        for _ in 0..<5 {
            error = #expect(throws: KafkaError.self) { _ = try admin.metadata(timeoutMilliseconds: 4000) }
            if let error, ![.timedOut, .transport].contains(error.code) || error.message.contains("refused") { break }
        }
        return try #require(error)
    }

    @Test func `records go through TLS both ways`() throws {
        let front = try good()
        let topic = "tls-\(UUID().uuidString.prefix(8))"
        let admin = try Admin(configuration: configuration(front.port))
        try admin.createTopic(NewTopic(topic, partitions: 1, replicationFactor: 1))
        // The broker advertises the port with TLS, so the connections that follow are encrypted too.
        #expect(try admin.metadata().brokers.map(\.port) == [front.port])
        let producer = try Producer(configuration: configuration(front.port))
        for number in 0..<20 { try producer.enqueue(ProducerRecord(topic: topic, value: bytes("\(number)"))) }
        try producer.close()
        let consumer = try Consumer(
            configuration: configuration(
                front.port,
                ["group.id": "tls", "auto.offset.reset": "earliest", "session.timeout.ms": "6000"]),
            topics: [topic])
        #expect(try consumer.read(20).compactMap(\.value) == (0..<20).map { "\($0)" })
        try consumer.close()
    }

    @Test func `an expired certificate is reported as such`() throws {
        let certificate = try certificates.make("expired", for: "DNS:localhost,IP:127.0.0.1", days: -1)
        let front = try TLSFront(broker, certificate: certificate)
        let error = try failure(configuration(front.port))
        #expect(error.code == .certificateExpired)
        #expect(error.message.contains("ssl://localhost:\(front.port)/bootstrap: the broker's certificate has expired"))
        #expect(error.description.contains("Renew the broker's certificate"))
    }

    @Test func `a certificate for another name is reported as such`() throws {
        let front = try TLSFront(broker, certificate: certificates.make("wrong", for: "DNS:broker.example"))
        let error = try failure(configuration(front.port))
        #expect(error.code == .certificateName)
        #expect(error.description.contains("advertised.listeners"))
    }

    @Test func `a certificate of an unknown authority is reported as such`() throws {
        let front = try good()
        let others = try TestCertificates()
        let error = try failure(configuration(front.port, ["ssl.ca.location": others.authority]))
        withExtendedLifetime(others) {}
        #expect(error.code == .certificateUntrusted)
        #expect(error.description.contains("ssl.ca.location"))
    }

    @Test func `a missing certificate of the client is reported as such`() throws {
        let front = try TLSFront(
            broker, certificate: certificates.make("good", for: "DNS:localhost"), clients: certificates.authority)
        let error = try failure(configuration(front.port))
        #expect(error.code == .certificateRequired)
        #expect(error.description.contains("Set ssl.certificate.location"))
        let own = try certificates.make("client", for: "DNS:client")
        let admin = try Admin(
            configuration: configuration(front.port, ["ssl.certificate.location": own, "ssl.key.location": own]))
        #expect(try admin.metadata().brokers.map(\.port) == [front.port])
    }

    @Test func `plaintext to a listener with TLS is reported as such`() throws {
        let front = try good()
        let error = try failure(configuration(front.port, ["security.protocol": "plaintext"]))
        #expect(error.code == .tlsExpected)
        #expect(error.description.contains("Set security.protocol to ssl or sasl_ssl"))
    }

    @Test func `TLS to a listener without TLS is reported as such`() throws {
        let error = try failure(configuration(broker.port))
        #expect(error.code == .tlsNotExpected)
        #expect(error.description.contains("Set security.protocol to plaintext"))
    }

    @Test func `a missing listener is reported with its address`() throws {
        let unused = try ReservedPort()
        let error = try failure(configuration(unused.number, ["security.protocol": "plaintext"]))
        #expect(error.code == .transport)
        #expect(error.message.contains("localhost:\(unused.number)") && error.message.contains("refused"))
    }

    /// The broker takes any name and password, but cannot do SCRAM: what a login that fails looks like.
    @Test func `a failed login is reported without the password`() throws {
        let error = try failure(
            configuration(
                broker.port,
                [
                    "security.protocol": "sasl_plaintext", "sasl.mechanisms": "SCRAM-SHA-256",
                    "sasl.username": "somebody",
                    "sasl.password": "planted-password",
                ]))
        #expect(error.code == .authentication)
        #expect(error.message.contains("SASL authentication error"))
        #expect(!error.description.contains("planted-password"))
        #expect(error.description.contains("sasl.password"))
    }

    @Test func `a mechanism that the library does not know is refused at once`() {
        let configuration = configuration(
            broker.port, ["security.protocol": "sasl_ssl", "sasl.mechanisms": "NONSENSE", "sasl.password": "planted"])
        let error = #expect(throws: KafkaError.self) { _ = try Admin(configuration: configuration) }
        #expect(error != nil)
        #expect(error?.description.contains("planted") == false)
    }

    @Test func `a producer says why nothing was sent`() throws {
        let front = try TLSFront(broker, certificate: certificates.make("wrong", for: "DNS:broker.example"))
        let producer = try Producer(configuration: configuration(front.port))
        try producer.enqueue(ProducerRecord(topic: "any", value: bytes("x")))
        try wait(for: "the reason") {
            do {
                try producer.flush(timeoutMilliseconds: 100)
                return false
            } catch let error as KafkaError {
                return producer.explain(error).code == .certificateName
            }
        }
        try? producer.close(timeoutMilliseconds: 0)
    }
}
