import CLibrdkafka

/// Builds the library's configuration object from properties.
enum NativeConfiguration {
    /// Makes a configuration object that the caller owns.
    static func make(_ properties: [String: String]) throws -> OpaquePointer {
        guard let configuration = rd_kafka_conf_new() else {
            throw KafkaError(.creationFailed, "librdkafka gave no configuration object")
        }
        do {
            for (name, value) in properties.sorted(by: { $0.key < $1.key }) {
                try set(name, value, on: configuration)
            }
        } catch {
            rd_kafka_conf_destroy(configuration)
            throw error
        }
        return configuration
    }

    private static func set(_ name: String, _ value: String, on configuration: OpaquePointer) throws {
        var text = [CChar](repeating: 0, count: 512)
        let result = rd_kafka_conf_set(configuration, name, value, &text, text.count)
        if result == RD_KAFKA_CONF_OK { return }
        if result == RD_KAFKA_CONF_UNKNOWN {
            throw KafkaError(
                .unknownProperty, "librdkafka \(NativeLibrary.versionText) has no property \"\(name)\"")
        }
        // The library's sentence quotes the value, so it is only for properties that hold no secret.
        let reason = ConfigurationRules.isSecret(name) ? "its value (hidden) is refused" : makeText(text)
        throw KafkaError(.invalidProperty, "property \"\(name)\": \(reason)")
    }
}

/// Reads a zero-terminated text from a buffer that the library filled.
func makeText(_ buffer: [CChar]) -> String {
    String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
