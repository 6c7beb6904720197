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
    package var addresses: [String] {
        (url ?? "").split(separator: ",").map { part in
            var address = part.trimmingCharacters(in: .whitespaces)
            while address.last == "/" { address.removeLast() }
            return address
        }
    }

    /// Returns the fault of a secret that goes into a header, or nil.
    package static func faultOfSecret(_ text: String) -> String? {
        text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } ? "holds a control character" : nil
    }

    /// The fault of the addresses, or nil. It shows no address, because one may hold a password.
    package var faultOfURL: String? {
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
