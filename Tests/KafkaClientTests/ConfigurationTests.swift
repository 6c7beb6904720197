import Testing

@testable import KafkaClient

@Suite struct ConfigurationTests {
    private let debian = KafkaLibraryVersion(major: 2, minor: 0, revision: 2)
    private let fixed = KafkaLibraryVersion(major: 2, minor: 3, revision: 0)
    private let group = ["group.id": "g"]

    private func error(of body: () throws -> Void) -> KafkaError? {
        do {
            try body()
            return nil
        } catch {
            return error as? KafkaError
        }
    }

    @Test(arguments: ["cooperative-sticky", "range, cooperative-sticky", "cooperative-sticky,range"])
    func `cooperative sticky is refused where it can abort`(strategy: String) {
        let properties = group.merging(["partition.assignment.strategy": strategy]) { $1 }
        let refused = error { _ = try ConfigurationRules.resolve(properties, role: .consumer, version: debian) }
        #expect(refused?.code == .unsupportedByLibrary)
        #expect(refused?.message.contains("2.3.0") == true)
        let last = KafkaLibraryVersion(major: 2, minor: 2, revision: 9)
        #expect(error { _ = try ConfigurationRules.resolve(properties, role: .consumer, version: last) } != nil)
        #expect(error { _ = try ConfigurationRules.resolve(properties, role: .consumer, version: fixed) } == nil)
    }

    @Test func `the consumer refuses cooperative sticky of this library if it must`() {
        let configuration = KafkaConfiguration(
            group.merging(["partition.assignment.strategy": "cooperative-sticky"]) { $1 })
        let refused = error { _ = try Consumer(configuration: configuration, topics: ["t"]) }
        #expect((refused?.code == .unsupportedByLibrary) == (KafkaLibrary.version < fixed))
    }

    @Test func `user properties replace defaults`() throws {
        let resolved = try ConfigurationRules.resolve(
            group.merging(["auto.offset.reset": "earliest", "auto.commit.enable": "true"]) { $1 },
            role: .consumer, version: debian)
        #expect(resolved["auto.offset.reset"] == "earliest")
        #expect(resolved["enable.auto.commit"] == nil)
        #expect(resolved["queued.max.messages.kbytes"] == "16384")
        #expect(resolved["partition.assignment.strategy"] == "range")
    }

    @Test func `a consumer needs a group`() {
        let refused = error { _ = try Consumer(configuration: [:], topics: ["t"]) }
        #expect(refused?.message.contains("group.id") == true)
        #expect(error { _ = try Consumer(configuration: ["group.id": "g"], topics: []) }?.code == .invalidArgument)
    }

    @Test func `unknown properties are named`() {
        let refused = error { _ = try Producer(configuration: ["bootstrap.server": "x"]) }
        #expect(refused?.code == .unknownProperty)
        #expect(refused?.description.contains("\"bootstrap.server\"") == true)
    }

    @Test func `refused values name the property`() {
        let refused = error { _ = try Producer(configuration: ["linger.ms": "soon"]) }
        #expect(refused?.code == .invalidProperty)
        #expect(refused?.description.contains("linger.ms") == true)
    }

    @Test(arguments: [
        "sasl.oauthbearer.method", "ssl.key.pem", "sasl.mechanism", "ssl.keystore.location", "ssl.key.location",
    ])
    func `errors do not show secrets`(property: String) {
        let secret = "hunter2hunter2"
        let configuration: KafkaConfiguration = [property: secret, "security.protocol": "sasl_ssl"]
        let refused = error { _ = try Producer(configuration: configuration) }
        #expect(refused != nil)
        #expect(refused?.description.contains(secret) == false, "\(refused?.description ?? "")")
    }

    @Test func `printing hides secrets`() {
        let configuration: KafkaConfiguration = ["sasl.password": "hunter2", "bootstrap.servers": "a:1"]
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), dumped] {
            #expect(!text.contains("hunter2"))
            #expect(text.contains("a:1"))
        }
        #expect(
            ConfigurationRules.redact("no file hunter2!", secretsOf: configuration.properties) == "no file [hidden]!")
    }
}
