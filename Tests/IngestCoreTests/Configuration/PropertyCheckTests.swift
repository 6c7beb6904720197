import KafkaClient
import Logging
import Synchronization
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct PropertyCheckTests {
    @Test func `an unknown librdkafka property is refused with the closest name, without a broker`() throws {
        var settings = KafkaSettings()
        settings.properties["sesion.timeout.ms"] = "6000"
        let error = #expect(throws: RouteError.self) { try settings.checkProperties() }
        #expect(error?.description.contains("kafka.sesion.timeout.ms") == true)
        #expect(error?.description.contains("Did you mean kafka.session.timeout.ms?") == true)
    }

    @Test func `a value that librdkafka refuses is refused without a broker`() {
        var settings = KafkaSettings()
        settings.properties["session.timeout.ms"] = "soon"
        #expect(throws: KafkaError.self) { try settings.checkProperties() }
    }

    @Test func `the library's list of properties holds those without a default too`() {
        let names = Set(KafkaLibrary.propertyNames)
        #expect(
            names.isSuperset(of: ["bootstrap.servers", "sasl.password", "group.instance.id", "check.crcs", "acks"]))
    }

    @Test func `a warning about a property that nobody set is left out`() {
        struct Counter: LogHandler {
            let count: @Sendable () -> Void
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.trace
            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }
            func log(event: LogEvent) { count() }
        }
        final class Box: Sendable { let lines = Mutex(0) }
        let box = Box()
        let logger = Logger(label: "test") { _ in Counter(count: { box.lines.withLock { $0 += 1 } }) }
        var settings = KafkaSettings()
        settings.properties["linger.ms"] = "5"
        let configuration = settings.clientConfiguration(logger: logger)
        configuration.onLog?(4, "CONFWARN", "Configuration property enable.gapless.guarantee is experimental: x")
        #expect(box.lines.withLock { $0 } == 0)
        configuration.onLog?(4, "CONFWARN", "Configuration property linger.ms is deprecated: x")
        configuration.onLog?(4, "FAIL", "enable.gapless.guarantee")
        #expect(box.lines.withLock { $0 } == 2)
    }

    @Test func `files without topics leave no topic to read`() throws {
        let text = "files: [{ match: \"a.csv\", routes: [{ entity: Message }] }]"
        #expect(try WorkerConfiguration.load(yaml: text, name: "w.yaml").configuration.topics.isEmpty)
        #expect(
            try WorkerConfiguration.load(yaml: "author: x", name: "w.yaml").configuration.topics.map(\.name) == [
                "chat-events"
            ])
    }
}
