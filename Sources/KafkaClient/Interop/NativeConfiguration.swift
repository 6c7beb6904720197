import CLibrdkafka
import Glibc

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

    /// Makes a configuration object and frees it.
    static func check(_ properties: [String: String]) throws { rd_kafka_conf_destroy(try make(properties)) }

    /// Reads the names of all properties that the library has documented.
    static func propertyNames() -> [String] {
        // The stream writes both until it is closed.
        let buffer = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: 1)
        let size = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        buffer.initialize(to: nil)
        size.initialize(to: 0)
        defer {
            free(buffer.pointee)
            buffer.deallocate()
            size.deallocate()
        }
        guard let stream = open_memstream(buffer, size) else { return [] }
        rd_kafka_conf_properties_show(stream)
        fclose(stream)
        guard let text = buffer.pointee else { return [] }
        // A table in Markdown: the name, then the columns behind bars.
        let names = String(cString: text).split(separator: "\n").compactMap { line -> String? in
            guard let bar = line.firstIndex(of: "|") else { return nil }
            let name = line[..<bar].filter { $0 != " " }
            return name.contains { $0.isLetter } && name != "Property" ? name : nil
        }
        return Set(names).sorted()
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
