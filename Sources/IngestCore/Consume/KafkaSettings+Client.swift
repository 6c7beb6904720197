import GraphCore
import KafkaClient
import Logging
import RecordDecoding

extension KafkaSettings {
    /// Properties that only a consumer understands; a producer would warn about each.
    private static let consumerProperties: Set = [
        "group.id", "group.instance.id", "partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms",
        "max.poll.interval.ms", "auto.offset.reset", "fetch.min.bytes", "fetch.wait.max.ms", "fetch.max.bytes",
        "max.partition.fetch.bytes", "fetch.message.max.bytes", "queued.min.messages", "queued.max.messages.kbytes",
        "isolation.level", "check.crcs", "enable.auto.commit", "enable.auto.offset.store", "fetch.error.backoff.ms",
        "enable.partition.eof",
        // Of the notifications' producer alone, which is given it by name.
        "transactional.id",
    ]

    /// Checks names and values of the properties as librdkafka does, without a connection.
    ///
    /// - Throws: ``RouteError`` for a name that librdkafka does not know, with the closest one; `KafkaError` for a value.
    package func checkProperties() throws {
        do {
            try KafkaConfiguration(properties.values).check()
        } catch let error as KafkaError where error.code == .unknownProperty {
            let known = Set(KafkaLibrary.propertyNames)
            let unknown = properties.values.keys.sorted().first {
                !known.contains($0) && (try? KafkaConfiguration([$0: properties[$0] ?? ""]).check()) == nil
            }
            let closest = unknown.flatMap { ClosestName.find($0, among: known.sorted()) }
            throw RouteError(
                message: "kafka.\(unknown ?? ""): librdkafka \(KafkaLibrary.versionString) has no such property. "
                    + (closest.map { "Did you mean kafka.\($0)?" } ?? "Remove it, or correct its name."))
        }
    }

    /// Returns the consumer's configuration.
    ///
    /// - Parameter outages: takes the client's lines, which repeat while a broker is away; else the logger has each.
    /// - Throws: as ``checkProperties()``, and ``RouteError`` where a property would break the worker's promises.
    package func consumerConfiguration(
        logger: Logger, outages: OutageLog? = nil
    ) throws -> KafkaConfiguration {
        try checkProperties()
        if properties["enable.auto.commit"] == "true" || properties["enable.auto.offset.store"] == "true" {
            throw RouteError(
                message:
                    "kafka.enable.auto.commit and kafka.enable.auto.offset.store have to stay false: "
                    + "the store keeps the positions, and the broker's follow. Remove them.")
        }
        if let reset = properties["auto.offset.reset"], reset != "error" {
            throw RouteError(
                message: "kafka.auto.offset.reset would jump over records in silence. "
                    + "Remove it and use kafka.onPositionLost.")
        }
        // Behind the last record there may be offsets without any: only the client can tell that it has come to the end.
        return configuration(properties.values.filter { $0.key != "transactional.id" }, logger, outages)
            .setting("enable.partition.eof", to: "true")
    }

    /// Returns the configuration of a producer or of an administrator on the same brokers.
    package func clientConfiguration(logger: Logger, outages: OutageLog? = nil) -> KafkaConfiguration {
        configuration(properties.values.filter { !Self.consumerProperties.contains($0.key) }, logger, outages)
    }

    private func configuration(
        _ values: [String: String], _ logger: Logger, _ outages: OutageLog?
    ) -> KafkaConfiguration {
        var configuration = KafkaConfiguration(values)
        configuration.onLog = { level, facility, message in
            // Nobody can act on a warning about a property that only the library or this client sets.
            if facility == "CONFWARN", !values.keys.contains(where: { message.contains($0) }) { return }
            // librdkafka's levels are the levels of syslog.
            let level: Logger.Level = level <= 3 ? .error : level == 4 ? .warning : level <= 6 ? .info : .debug
            if let outages { return outages.clientSaid(level, facility, message) }
            logger.log(level: level, "librdkafka: \(message)", metadata: ["facility": "\(facility)"])
        }
        return configuration
    }
}
