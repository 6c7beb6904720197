import KafkaClient
import Synchronization
import TestSupport

let cooperativeIsSafe = KafkaLibrary.version >= KafkaLibraryVersion(major: 2, minor: 3, revision: 0)

func bytes(_ text: String) -> [UInt8] { [UInt8](text.utf8) }

extension EmbeddedBroker {
    func configuration(_ properties: [String: String] = [:]) -> KafkaConfiguration {
        KafkaConfiguration(["bootstrap.servers": bootstrapServers].merging(properties) { $1 })
    }

    func consumer(
        _ topics: [String], group: String = "group", _ properties: [String: String] = [:],
        rebalance: RebalanceHandler? = nil
    ) throws -> Consumer {
        let configuration = self.configuration(
            ["group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": "6000"]
                .merging(properties) { $1 })
        return try Consumer(configuration: configuration, topics: topics, rebalance: rebalance)
    }

    /// Writes `count` values "0", "1", … to a partition.
    func fill(_ topic: String, partition: Int32 = 0, count: Int, from first: Int = 0) throws {
        let producer = try Producer(configuration: configuration(["linger.ms": "5"]))
        for number in first..<first + count {
            try producer.enqueue(ProducerRecord(topic: topic, partition: partition, value: bytes("\(number)")))
        }
        try producer.close(timeoutMilliseconds: patientMilliseconds)
    }
}

/// Collects values from callbacks.
final class Collected<Value: Sendable>: Sendable {
    private let storage = Mutex<[Value]>([])
    func append(_ value: Value) { storage.withLock { $0.append(value) } }
    var values: [Value] { storage.withLock { $0 } }
}

/// The code of the KafkaError that `body` throws; nil when it throws none.
func codeOf(_ body: () throws -> Void) -> KafkaError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KafkaError)?.code
    }
}
