import Foundation
import KafkaClient

/// Says where the schemas are that records of Avro and Protobuf name.
public struct SchemaRegistryConfiguration: Sendable, Equatable {
    /// The addresses with commas between them, each tried where the one before has no answer; nil for no registry.
    public var url: String?
    /// The user's name for basic authentication, or nil.
    public var username: String?
    /// The user's password for basic authentication, or nil.
    public var password: String?
    /// The token that goes before a user's name, or nil.
    public var bearerToken: String?
    /// The file with the authorities that may sign the registry's certificate; the system's when nil.
    public var caFile: String?
    /// The time that the registry has for an answer, in seconds.
    public var timeoutSeconds = 10

    /// Creates the defaults.
    public init() {}

    /// The addresses without a slash at their ends.
    var addresses: [String] {
        (url ?? "").split(separator: ",").map { part in
            var address = part.trimmingCharacters(in: .whitespaces)
            while address.last == "/" { address.removeLast() }
            return address
        }
    }

    /// Says what is wrong with a secret that goes into a header, or nothing.
    static func faultOfSecret(_ text: String) -> String? {
        text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } ? "holds a control character" : nil
    }

    /// Says what is wrong with the addresses, without showing one that may hold a password, or nothing.
    var faultOfURL: String? {
        guard url != nil else { return nil }
        let parts = addresses.map { URLComponents(string: $0) }
        let isHTTP = parts.map { $0?.host?.isEmpty == false && ["http", "https"].contains($0?.scheme) }
        if isHTTP.isEmpty || isHTTP.contains(false) {
            return "is no address that begins with http:// or https://"
        }
        if parts.contains(where: { $0?.user != nil || $0?.password != nil }) {
            return "holds a user's name or password"
        }
        if parts.contains(where: { $0?.query != nil || $0?.fragment != nil }) { return "holds a query" }
        return nil
    }
}

extension SchemaRegistryConfiguration: RedactedDescription {
    /// Lists the settings without the secrets.
    public var description: String {
        "url=\(faultOfURL == nil ? url ?? "null" : SecretName.replacement) username=\(username ?? "null") "
            + "timeoutSeconds=\(timeoutSeconds)"
    }
}

extension ConfigurationLoader {
    /// Refuses addresses that are none, and files that are not there.
    mutating func checkSchemaRegistry() {
        let registry = configuration.schemaRegistry
        if let fault = registry.faultOfURL {
            problems.add(
                .invalidValue, at: origins["schemaRegistry.url"] ?? .byDefault, "schemaRegistry.url \(fault)",
                remedy: "Write it as https://HOST:8081, and a user in schemaRegistry.username and "
                    + "schemaRegistry.password.")
        }
        if let path = registry.caFile, !FileManager.default.isReadableFile(atPath: path) {
            problems.add(
                .unreadable, at: origins["schemaRegistry.caFile"] ?? .byDefault,
                "schemaRegistry.caFile is \"\(path)\", which cannot be read",
                remedy: "Name a file of certificates in PEM.")
        }
    }
}
