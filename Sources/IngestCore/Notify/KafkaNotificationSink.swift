import KafkaClient

/// Sends notifications to a topic, each by itself, in their order.
///
/// A later notification never reaches readers before an earlier one. After a refusal the sink gives up the producer with
/// all that it holds. So no later notification is delivered before the refused one.
package final class KafkaNotificationSink: NotificationSink {
    private let sink: KafkaRecordSink
    private let topic: String

    /// Makes a sink with a producer of its own.
    ///
    /// - Parameters:
    ///   - configuration: the producer's.
    ///   - topic: where notifications are sent.
    ///   - timeoutMilliseconds: how long one wait for deliveries may take.
    /// - Throws: `KafkaError` where a property is unknown or refused.
    package init(configuration: KafkaConfiguration, topic: String, timeoutMilliseconds: Int = 10_000) throws {
        var configuration = configuration
        // The library does not go on behind a notification that the broker refused: readers pass over older tokens.
        if configuration["enable.idempotence"] ?? "true" == "true" {
            configuration["enable.gapless.guarantee"] = configuration["enable.gapless.guarantee"] ?? "true"
        }
        self.topic = topic
        sink = try KafkaRecordSink(configuration: configuration, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Sends notifications and waits until all are delivered; those without a key go to partition 0.
    ///
    /// After a wait that was too short it goes on waiting for what is underway, if it is given that again first.
    ///
    /// - Throws: `KafkaError` where one was refused or not delivered in time.
    package func deliver(_ notifications: [ChangeNotification]) throws {
        try sink.deliver(notifications.map { $0.record(topic: topic) })
    }

    /// Shortens what is left of a wait for the broker to two seconds.
    package func prepareToStop() { sink.prepareToStop() }

    /// Gives up what is not delivered; it is sent again by the next worker.
    package func close() { sink.close() }
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
