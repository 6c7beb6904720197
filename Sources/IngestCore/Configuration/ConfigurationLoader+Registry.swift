import Foundation
import RecordDecoding

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
