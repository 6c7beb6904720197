import Foundation
import KafkaClient
import TestSupport

/// Events of the topic `events`, and looks at the store of the worker that reads them.
extension BrokerProcess {
    /// Sends values to the topic.
    func send(_ values: [String]) throws {
        let producer = try Producer(configuration: ["bootstrap.servers": bootstrapServers])
        for value in values {
            try producer.enqueue(ProducerRecord(topic: "events", partition: 0, key: nil, value: Array(value.utf8)))
        }
        try producer.close(timeoutMilliseconds: patientMilliseconds)
    }

    /// Makes the topic, with one partition.
    func makeTopic() throws {
        let admin = try Admin(configuration: ["bootstrap.servers": bootstrapServers])
        try admin.createTopic(NewTopic("events", partitions: 1, replicationFactor: 1))
    }

    /// An event that upserts a message; another property than `body` makes a dead letter without an alias.
    static func message(_ id: String, text property: String = "body") -> String {
        #"{"specversion":"1.0","type":"message.upserted","data":{"id":"\#(id)","chat":"c","\#(property)":"x"}}"#
    }
}

extension Foreign {
    /// The number that a query of a store gives; 0 while there is none.
    static func value(_ store: String, _ sql: String) -> Int { (try? sqlite(store, sql)).flatMap { Int($0) } ?? 0 }
}

extension Program {
    /// Waits until the worker has saved the offset `wanted` as its next one.
    func waitForPosition(_ wanted: Int, of store: String) throws {
        try wait(for: "position \(wanted)") { Foreign.value(store, "SELECT max(nextOffset) FROM _position") >= wanted }
    }
}
