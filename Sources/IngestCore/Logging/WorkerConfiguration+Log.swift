import Logging

extension WorkerConfiguration {
    /// The places to which a worker connects, as the log names them at the start. They hold no secrets.
    package var connections: Logger.Metadata {
        let client = kafka.properties
        var fields: Logger.Metadata = [
            "brokers": "\(client["bootstrap.servers"] ?? "")",
            "topics": .array(topics.map { "\($0.name)" }),
            "store": "\(storePlace)",
            "http": http.enabled ? "\(http.host):\(http.port)" : "off",
        ]
        if let partitions = kafka.partitions {
            fields["partitions"] = "\(partitions)"
        } else {
            fields["group"] = "\(client["group.id"] ?? "")"
        }
        let registries = schemaRegistry.addresses
        if !registries.isEmpty { fields["registry"] = "\(registries.joined(separator: ","))" }
        if let topic = notifications.topic { fields["notifications"] = "\(topic)" }
        if let topic = deadLetters.topic { fields["deadLetters"] = "\(topic)" }
        return fields
    }
}
