/// Decides which properties a configuration may have, beyond librdkafka's own checks.
enum ConfigurationRules {
    /// The first release without the abort of upstream issue 4312 (fixed by pull request 4381).
    static let cooperativeStickyFrom = KafkaLibraryVersion(major: 2, minor: 3, revision: 0)

    enum Role: Sendable {
        case consumer, producer, admin, embeddedBroker

        var defaults: [String: String] {
            switch self {
            case .consumer: KafkaConfiguration.consumerDefaults
            case .producer: KafkaConfiguration.producerDefaults
            case .admin, .embeddedBroker: [:]
            }
        }
    }

    /// Whether a property's value must never be shown.
    static func isSecret(_ property: String) -> Bool {
        let name = property.lowercased()
        return name.contains("password") || name.contains("secret") || name.contains("token")
            || name.hasPrefix("sasl.") || name.hasPrefix("ssl.key") || name.hasPrefix("ssl_key")
            || name.hasSuffix(".pem")
    }

    /// Merges the defaults of a role with the user's properties, and refuses what the library version cannot do.
    static func resolve(
        _ properties: [String: String], role: Role, version: KafkaLibraryVersion
    ) throws -> [String: String] {
        var resolved = role.defaults
        for (name, value) in properties {
            // The library knows two names for some properties; the user's must replace the default under either.
            if let canonical = aliases[name] { resolved[canonical] = nil }
            resolved[name] = value
        }
        if role == .consumer { try checkConsumer(resolved, version: version) }
        return resolved
    }

    /// Hides the values of secrets in a text that the library wrote.
    static func redact(_ text: String, secretsOf properties: [String: String]) -> String {
        var redacted = text
        // Very short values would hide half of every sentence, and are not worth hiding.
        for (name, value) in properties where isSecret(name) && value.utf8.count >= 3 {
            redacted = replacing(value, in: redacted)
        }
        return redacted
    }

    private static let aliases = ["auto.commit.enable": "enable.auto.commit"]

    private static func checkConsumer(_ properties: [String: String], version: KafkaLibraryVersion) throws {
        if (properties["group.id"] ?? "").isEmpty {
            throw KafkaError(.invalidProperty, "property \"group.id\" is missing: a consumer belongs to a group")
        }
        let strategies = properties["partition.assignment.strategy"] ?? ""
        let names = strategies.split(separator: ",").map { $0.filter { !$0.isWhitespace } }
        if names.contains("cooperative-sticky") && version < cooperativeStickyFrom {
            throw KafkaError(
                .unsupportedByLibrary,
                "property \"partition.assignment.strategy\": cooperative-sticky can abort the process with librdkafka "
                    + "\(version); it needs \(cooperativeStickyFrom) or newer. Use range or roundrobin")
        }
    }

    private static func replacing(_ value: String, in text: String) -> String {
        text.split(separator: value, omittingEmptySubsequences: false).joined(separator: "[hidden]")
    }
}
