import Logging
import Testing

@testable import IngestCore
@testable import Operations

@Suite struct WorkerSummaryTests {
    private let ready = [HealthCheck("store"), HealthCheck("broker")]

    private func texts(_ fields: Logger.Metadata) -> [String: String] { fields.mapValues { "\($0)" } }

    @Test func `a summary counts from the one before`() {
        var summary = WorkerSummary(at: 0)
        let first = summary.fields(
            .init(records: 6_000, deadLetters: 2), ready, .init(lag: 40, lagSeconds: 1.2), at: 60)
        #expect(
            texts(first) == [
                "state": "running", "records": "6000", "deadLetters": "2", "recordsTotal": "6000",
                "deadLettersTotal": "2", "lag": "40", "lagSeconds": "2",
            ])
        let second = summary.fields(.init(records: 6_000, deadLetters: 2), ready, .init(lag: 0), at: 120)
        #expect(
            texts(second) == [
                "state": "idle", "records": "0", "deadLetters": "0", "recordsTotal": "6000", "deadLettersTotal": "2",
                "lag": "0",
            ])
    }

    @Test func `a worker that does not read says so, and why`() {
        var summary = WorkerSummary(at: 0)
        let checks = [HealthCheck("store"), HealthCheck("broker", failure: "refused")]
        let fields = texts(summary.fields(.init(), checks, .init(), at: 60))
        #expect(fields["state"] == "stopped")
        #expect(fields["attention"] == #"["broker"]"#)
        // A lag that is not known is no field.
        #expect(fields["lag"] == nil && fields["lagSeconds"] == nil)
    }

    @Test func `the log's first line names the places without secrets`() {
        var configuration = WorkerConfiguration()
        configuration.topics = [TopicConfiguration(name: "a"), TopicConfiguration(name: "b")]
        configuration.kafka.properties = KafkaProperties([
            "bootstrap.servers": "k1:9092,k2:9092", "group.id": "g", "sasl.password": "hidden-one",
        ])
        configuration.store.url = "postgres://u:hidden-two@db:5432/ingest?options=x"
        configuration.schemaRegistry.url = "https://r1:8081/, https://r2:8081"
        configuration.schemaRegistry.password = "hidden-three"
        configuration.http.bearerToken = "hidden-four"
        configuration.notifications.topic = "changes"
        let fields = texts(configuration.connections)
        #expect(fields["brokers"] == "k1:9092,k2:9092" && fields["group"] == "g")
        #expect(fields["topics"] == #"["a", "b"]"#)
        #expect(fields["registry"] == "https://r1:8081,https://r2:8081")
        #expect(fields["store"]?.contains("db:5432/ingest") == true)
        #expect(fields["http"] == "127.0.0.1:8080" && fields["notifications"] == "changes")
        #expect(!fields.values.contains { $0.contains("hidden") })
        configuration.kafka.partitions = .share(index: 1, count: 4)
        configuration.http.enabled = false
        let chosen = texts(configuration.connections)
        #expect(chosen["partitions"] == "1/4" && chosen["group"] == nil && chosen["http"] == "off")
    }
}
