import CZlib
import GraphCore
import RecordDecoding

extension WorkerConfiguration {
    /// The mark of the settings that decide a store's content: its topics, the routes, the partitions and the limits of
    /// records.
    ///
    /// Where they are written, and in which order a dictionary has its parts, makes no difference.
    package var contentMark: String { Self.mark([topics, routes, limits, kafka.partitions as Any]) }

    /// The mark of the settings and the model that decide how a record is decoded.
    func decodingMark(_ model: ObjectModel) -> String {
        Self.mark([topics, routes, files, limits, schemaRegistry.url ?? "", model.yaml])
    }

    private static func mark(_ settings: [Any]) -> String {
        var text = ""
        for setting in settings { append(setting, to: &text) }
        let sum = Array(text.utf8).withUnsafeBufferPointer { crc32_z(crc32(0, nil, 0), $0.baseAddress, $0.count) }
        return String(sum, radix: 16)
    }

    private static func append(_ value: Any, to text: inout String) {
        if value is ConfigurationPlace { return }
        let mirror = Mirror(reflecting: value)
        if mirror.children.isEmpty {
            text += "\(value);"
            return
        }
        var parts: [String] = []
        for child in mirror.children {
            var part = child.label.map { "\($0)=" } ?? ""
            append(child.value, to: &part)
            parts.append(part)
        }
        if mirror.displayStyle == .dictionary || mirror.displayStyle == .set { parts.sort() }
        text += "(" + parts.joined() + ")"
    }
}
