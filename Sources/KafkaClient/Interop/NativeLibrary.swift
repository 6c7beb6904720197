import CLibrdkafka

/// Facts about the loaded library.
enum NativeLibrary {
    static var version: KafkaLibraryVersion {
        let packed = Int(rd_kafka_version())
        return KafkaLibraryVersion(
            major: (packed >> 24) & 0xFF, minor: (packed >> 16) & 0xFF, revision: (packed >> 8) & 0xFF)
    }
    static var versionText: String { String(cString: rd_kafka_version_str()) }

    /// Maps the library's error names to its numbers; read once.
    static let errorNumbers: [String: Int32] = {
        var descriptions: UnsafePointer<rd_kafka_err_desc>?
        var count = 0
        rd_kafka_get_err_descs(&descriptions, &count)
        var numbers: [String: Int32] = [:]
        guard let descriptions else { return numbers }
        for index in 0..<count {
            guard let name = descriptions[index].name else { continue }
            numbers[String(cString: name)] = descriptions[index].code.rawValue
        }
        return numbers
    }()
}

extension KafkaError.Code {
    init(_ number: rd_kafka_resp_err_t) {
        self.init(rd_kafka_err2name(number).map { String(cString: $0) } ?? "ERR_\(number.rawValue)")
    }

    /// The library's number for this code; nil for the client's own codes.
    var number: rd_kafka_resp_err_t? { NativeLibrary.errorNumbers[name].map { rd_kafka_resp_err_t(rawValue: $0) } }

    /// The library's sentence for this code.
    var libraryText: String {
        guard let number, let text = rd_kafka_err2str(number) else { return name }
        return String(cString: text)
    }
}

extension KafkaError {
    init(_ number: rd_kafka_resp_err_t, topicPartition: TopicPartition? = nil) {
        self.init(Code(number), topicPartition: topicPartition)
    }

    /// Takes over a library error object, and frees it.
    init(consuming error: OpaquePointer) {
        defer { rd_kafka_error_destroy(error) }
        let code = Code(rd_kafka_error_code(error))
        self.init(
            code, rd_kafka_error_string(error).map { String(cString: $0) },
            isRetriable: code.isRetriable || rd_kafka_error_is_retriable(error) != 0,
            isFatal: rd_kafka_error_is_fatal(error) != 0)
    }

    static func check(_ number: rd_kafka_resp_err_t) throws {
        if number != RD_KAFKA_RESP_ERR_NO_ERROR { throw KafkaError(number) }
    }

    static func check(_ error: OpaquePointer?) throws {
        if let error { throw KafkaError(consuming: error) }
    }
}
