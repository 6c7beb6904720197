import RecordDecoding

/// The settings of records' decoding, whose values `RecordDecoding` declares.
extension ConfigurationSection {
    static let schemaRegistry = ConfigurationSection(
        "schemaRegistry",
        "The schema registry that has the schemas of records in Avro and Protobuf; docs/reference/formats.md explains it.",
        keys: [
            .optionalText(
                "schemaRegistry.url", \.schemaRegistry.url,
                "The address, as https://HOST:8081. Of several addresses with commas, the worker asks the next one if "
                    + "one does not answer. null: there is no registry."),
            .optionalText(
                "schemaRegistry.username", \.schemaRegistry.username, "The user's name for basic authentication."),
            .secret(
                "schemaRegistry.password", \.schemaRegistry.password, fault: SchemaRegistryConfiguration.faultOfSecret,
                remedy: "Write it in one line.",
                "The user's password for basic authentication; file:PATH reads it from a file."),
            .secret(
                "schemaRegistry.bearerToken", \.schemaRegistry.bearerToken,
                fault: SchemaRegistryConfiguration.faultOfSecret, remedy: "Write it in one line.",
                "A token instead of a user; file:PATH reads it from a file."),
            .optionalText(
                "schemaRegistry.caFile", \.schemaRegistry.caFile,
                "The authorities that may sign the registry's certificate, in PEM; null takes the system's."),
            .integer(
                "schemaRegistry.timeoutSeconds", \.schemaRegistry.timeoutSeconds, 1...60,
                "The time that the registry has for an answer, in seconds."),
        ])

    static let limits = ConfigurationSection(
        "limits", "Limits of a record; a record beyond one of them becomes a dead letter.",
        keys: [
            .integer(
                "limits.maxRecordBytes", \.limits.maxRecordBytes, 1...mostInteger, reload: .taken,
                "The size of a record, in bytes."),
            .integer("limits.maxDepth", \.limits.maxDepth, 1...1_024, reload: .taken, "The levels of nesting."),
            .integer(
                "limits.maxElements", \.limits.maxElements, 1...10_000_000, reload: .taken,
                "The objects and references in arrays that one record states."),
            .integer(
                "limits.maxProgramMegabytes", \.limits.maxProgramMegabytes, 16...2_048, reload: .taken,
                "The memory of a route's jq program, in megabytes."),
            .integer(
                "limits.maxProgramMilliseconds", \.limits.maxProgramMilliseconds, 10...5_000, reload: .taken,
                "The processor time of a jq program for a record, in milliseconds."),
        ])
}
