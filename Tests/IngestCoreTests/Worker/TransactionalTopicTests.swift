import Foundation
import KafkaClient
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore

/// A topic of a transactional producer: each transaction ends with a marker, which is no record.
extension WorkerRuntimeTests {
    @Suite(.timeLimit(.minutes(60))) struct TransactionalTopicTests {
        @Test func `the marker behind the last record is no lag, and is part of the position`() async throws {
            let broker = try BrokerProcess(.noida)
            let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
            try admin.createTopic(NewTopic("events", partitions: 1, replicationFactor: 1))
            let producer = try Producer(
                configuration: ["bootstrap.servers": broker.bootstrapServers, "transactional.id": "a"])
            try producer.initTransactions(timeoutMilliseconds: patientMilliseconds)
            func send(_ id: String) throws {
                try producer.beginTransaction()
                try producer.enqueue(ProducerRecord(topic: "events", value: Array(WorkerHarness.message(id).utf8)))
                try producer.commitTransaction(timeoutMilliseconds: patientMilliseconds)
            }
            let harness = try WorkerHarness()
            harness.configuration.notifications.topic = nil
            harness.configuration.kafka.partitions = .all
            harness.configuration.kafka.properties["bootstrap.servers"] = broker.bootstrapServers
            try send("m1")
            try harness.start()
            try await harness.wait(for: "a lag of nothing") {
                harness.runtime?.metrics.consumerLag.with("events", "0").value == 0
            }
            try await harness.waitForPosition(2)
            try await harness.stop()
            #expect(try harness.read { try $0.positions() }.first?.detail?.hasSuffix("@0") == true)

            // The worker knows the log again by its last record, and reads on.
            try harness.start()
            try send("m2")
            try await harness.waitForPosition(4)
            try await harness.wait(for: "readiness") { harness.isReady() }
            try await harness.stop()
            #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 2)
        }
    }
}
