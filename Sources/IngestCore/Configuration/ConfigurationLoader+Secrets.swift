import KafkaClient

/// Values that stand in files of their own, as container platforms mount secrets.
extension ConfigurationNode {
    /// The beginning of a value that names a file.
    static let filePrefix = "file:"
    private static let largestSecretBytes = 65_536

    /// Returns the content of the file that the value names, without a line break at its end. Returns nil, and adds a
    /// problem, where the file cannot be read.
    func contentOfFile(_ path: String, name: String, problems: inout ConfigurationProblems) -> String? {
        func refuse(_ reason: String) -> String? {
            problems.add(
                .unreadable, at: origin, "\(name) stands in the file \"\(path)\", which \(reason)",
                remedy: "Correct the path after \"file:\", or the file and its permissions.")
            return nil
        }
        switch ConfigurationLoader.contents(of: path) {
        case .failure(let failure): return refuse("cannot be read: \(failure.reason)")
        case .success(let bytes):
            guard bytes.count <= Self.largestSecretBytes else { return refuse("is larger than 65536 bytes") }
            guard var text = String(validating: bytes, as: UTF8.self) else { return refuse("is not UTF-8") }
            if text.last?.isNewline ?? false { text.removeLast() }
            return text.isEmpty ? refuse("is empty") : text
        }
    }
}

extension ConfigurationKey {
    /// A text that no description shows, and that may stand in a file: `file:PATH`.
    static func secret(
        _ path: String, _ place: ConfigurationPath<String?>, fault: @escaping @Sendable (String) -> String?,
        remedy: String, _ summary: String
    ) -> Self {
        Self(
            path, place, summary, expected: "text, file:PATH or null", schema: .optionalString, isSecret: true,
            show: { $0 == nil ? "null" : SecretName.replacement }
        ) { node, problems in
            if node.isNull { return .some(nil) }
            guard var text = node.requiredText(name: path, problems: &problems) else { return nil }
            if text.hasPrefix(ConfigurationNode.filePrefix) {
                let file = String(text.dropFirst(ConfigurationNode.filePrefix.count))
                guard let content = node.contentOfFile(file, name: path, problems: &problems) else { return nil }
                text = content
            }
            if let wrong = fault(text) {
                problems.add(.invalidValue, at: node.origin, "\(path) \(wrong)", remedy: remedy)
                return nil
            }
            return text
        }
    }
}
