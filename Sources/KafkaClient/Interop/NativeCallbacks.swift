import CLibrdkafka
import Synchronization

/// The state that the library's callbacks reach through their opaque pointer. It outlives the client that it serves.
final class NativeCallbacks: Sendable {
    typealias RebalanceHook = @Sendable (RebalanceEvent) throws -> [TopicPartition: Int64]

    struct Rebalance {
        var hook: RebalanceHook?
        var assigned: Set<TopicPartition> = []
        /// The offset at which reading begins, chosen by the handler or by a later seek.
        var starts: [TopicPartition: Int64] = [:]
        var paused: Set<TopicPartition> = []
        var failure: (any Error)?
    }

    let onLog: KafkaConfiguration.LogHandler?
    let onError: KafkaConfiguration.ErrorHandler?
    let onStatistics: KafkaConfiguration.StatisticsHandler?
    let rebalance = Mutex(Rebalance())
    /// Why the client could not connect.
    let errorLog = ConnectionErrorLog()
    /// Which connections stand.
    let connections = ConnectionWatch()
    private let secrets: [String: String]

    init(_ configuration: KafkaConfiguration) {
        onLog = configuration.onLog
        onError = configuration.onError
        onStatistics = configuration.onStatistics
        secrets = configuration.properties.filter { ConfigurationRules.isSecret($0.key) }
    }

    func report(_ error: KafkaError) {
        guard let onError else { return }
        let message = ConfigurationRules.redact(error.message, secretsOf: secrets)
        onError(
            KafkaError(
                error.code, message, topicPartition: error.topicPartition, isRetriable: error.isRetriable,
                isFatal: error.isFatal))
    }

    func redact(_ text: String) -> String { ConfigurationRules.redact(text, secretsOf: secrets) }

    static func from(_ opaque: UnsafeMutableRawPointer?) -> NativeCallbacks? {
        opaque.map { Unmanaged<NativeCallbacks>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension NativeCallbacks {
    /// Registers the callbacks that every kind of client has.
    func install(on configuration: OpaquePointer) {
        rd_kafka_conf_set_opaque(configuration, Unmanaged.passUnretained(self).toOpaque())
        rd_kafka_conf_set_log_cb(configuration) { client, level, facility, text in
            guard let callbacks = NativeCallbacks.from(client.flatMap { rd_kafka_opaque($0) }) else { return }
            let facility = facility.map { String(cString: $0) } ?? ""
            let text = callbacks.redact(text.map { String(cString: $0) } ?? "")
            callbacks.errorLog.note(facility: facility, text: text)
            callbacks.onLog?(Int(level), facility, text)
        }
        rd_kafka_conf_set_error_cb(configuration) { client, number, reason, opaque in
            guard let client, let callbacks = NativeCallbacks.from(opaque) else { return }
            let error = NativeClient.describe(rd_kafka_resp_err_t(rawValue: number), reason, client: client)
            callbacks.report(error)
        }
        rd_kafka_conf_set_stats_cb(configuration) { _, text, length, opaque in
            if let text { NativeCallbacks.from(opaque)?.onStatistics?(.init(start: text, count: length)) }
            return 0  // The library frees the text.
        }
    }
}
