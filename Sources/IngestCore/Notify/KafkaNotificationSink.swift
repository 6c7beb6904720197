import KafkaClient
import Synchronization

/// Sends notifications to a topic, each by itself, in their order.
///
/// A later notification never reaches readers before an earlier one. The sink keeps notifications on their way, however
/// long the broker is away, and does not send them a second time. After a refusal it gives up the producer with all
/// that it holds. So no later notification is delivered before the refused one.
package final class KafkaNotificationSink: NotificationSink {
    private struct State: Sendable {
        var producer: Producer?
        /// The notifications that the producer holds and may not have delivered.
        var underway: [ChangeNotification] = []
    }

    private let configuration: KafkaConfiguration
    private let topic: String
    private let timeoutMilliseconds: Int
    private let state: Mutex<State>
    private let isStopping = Atomic<Bool>(false)

    /// Makes a sink with a producer of its own.
    ///
    /// - Parameters:
    ///   - configuration: the producer's.
    ///   - topic: where notifications are sent.
    ///   - timeoutMilliseconds: how long one wait for deliveries may take.
    /// - Throws: `KafkaError` where a property is unknown or refused.
    package init(configuration: KafkaConfiguration, topic: String, timeoutMilliseconds: Int = 10_000) throws {
        var configuration = configuration
        // A notification that expired in the queue while the one behind it is sent would come too late for readers that
        // pass over older tokens. So none expires; nor does the library go on behind one that the broker refused.
        configuration["message.timeout.ms"] = configuration["message.timeout.ms"] ?? "0"
        if configuration["enable.idempotence"] ?? "true" == "true" {
            configuration["enable.gapless.guarantee"] = configuration["enable.gapless.guarantee"] ?? "true"
        }
        self.configuration = configuration
        self.topic = topic
        self.timeoutMilliseconds = timeoutMilliseconds
        state = Mutex(State(producer: try Producer(configuration: configuration)))
    }

    /// Sends notifications and waits until all are delivered; those without a key go to partition 0.
    ///
    /// After a wait that was too short it goes on waiting for what is underway, if it is given that again first.
    ///
    /// - Throws: `KafkaError` where one was refused or not delivered in time.
    package func deliver(_ notifications: [ChangeNotification]) throws {
        try state.withLock { state in
            do {
                try deliver(notifications, &state)
            } catch let error as KafkaError where error.code == .timedOut {
                throw state.producer?.explain(error) ?? error
            } catch {
                Self.drop(&state)
                throw error
            }
        }
    }

    private func deliver(_ notifications: [ChangeNotification], _ state: inout State) throws {
        let producer = try state.producer ?? Producer(configuration: configuration)
        state.producer = producer
        var rest = notifications[...]
        if !state.underway.isEmpty {
            try flush(producer)
            if notifications.starts(with: state.underway) { rest = rest.dropFirst(state.underway.count) }
            state.underway = []
        }
        for notification in rest {
            try producer.enqueue(notification.record(topic: topic), makingRoom: { try flush(producer) })
            state.underway.append(notification)
        }
        try flush(producer)
        state.underway = []
    }

    private static func drop(_ state: inout State) {
        try? state.producer?.close(timeoutMilliseconds: 0)
        state.producer = nil
        state.underway = []
    }

    /// Shortens what is left of a wait for the broker to two seconds.
    package func prepareToStop() { isStopping.store(true, ordering: .releasing) }

    /// Gives up what is not delivered; it is sent again by the next worker.
    package func close() { state.withLock { Self.drop(&$0) } }

    private func flush(_ producer: Producer) throws {
        try producer.flush(timeoutMilliseconds: timeoutMilliseconds) { isStopping.load(ordering: .acquiring) }
    }
}

extension ChangeNotification {
    /// The record that carries the notification; without a key it goes to partition 0.
    func record(topic: String) -> ProducerRecord {
        var headers = [RecordHeader("content-type", [UInt8]("application/cloudevents+json".utf8))]
        if let trace { headers.append(RecordHeader(TraceParent.name, [UInt8](trace.utf8))) }
        return ProducerRecord(
            topic: topic, partition: key == nil ? 0 : nil, key: key.map { [UInt8]($0.utf8) },
            value: value.map { [UInt8]($0.utf8) }, headers: headers)
    }
}
