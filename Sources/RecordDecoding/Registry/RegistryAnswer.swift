import GraphCore

/// A schema as the registry gives it.
struct RegistrySchema: Equatable, Sendable {
    /// The schema's language.
    enum Kind: String, Sendable {
        case avro = "AVRO"
        case protobuf = "PROTOBUF"
        case json = "JSON"
    }

    /// Another schema that this one uses.
    struct Reference: Hashable, Sendable {
        /// The name by which the schema uses it: a type of Avro, or the path of an import.
        let name: String
        let subject: String
        let version: Int64
    }

    let kind: Kind
    let text: String
    let references: [Reference]
}

/// Decides what the registry's answer means for a schema.
///
/// Source: Confluent's "Schema Registry API Reference", `GET /schemas/ids/{id}` and its error codes.
enum RegistryAnswer: Equatable, Sendable {
    case schema(RegistrySchema)
    /// There is no such schema; asking again does not help.
    case missing
    /// The schema is there, and cannot be used.
    case unusable(reason: String)
    /// The registry says nothing of the schema for now.
    case unavailable(reason: String)
    /// The registry does not answer, and would say nothing of any other schema either.
    case silent(reason: String)

    /// The codes for a schema, a subject and a version that do not exist.
    private static let missingCodes: Set<Int64> = [40401, 40402, 40403]

    /// Reads an answer from its status and body.
    init(status: Int, body: [UInt8]) {
        switch status {
        case 200: self = Self.found(body)
        case 404:
            let code = Self.object(body) { $0.member("error_code")?.int64 }
            self =
                code.map(Self.missingCodes.contains) == true
                ? .missing
                : .unavailable(reason: "it answers 404 to the path; correct schemaRegistry.url")
        case 401, 403:
            self = .unavailable(
                reason: "it answers \(status); correct schemaRegistry.username and schemaRegistry.password, "
                    + "and what the user may read")
        case 300..<400:
            self = .unavailable(reason: "it redirects with \(status); set schemaRegistry.url to where it leads")
        default: self = .unavailable(reason: "it answers \(status)")
        }
    }

    private static func found(_ body: [UInt8]) -> Self {
        object(body) { root in
            guard let text = root.member("schema")?.string else { return nil }
            let name = root.member("schemaType")?.string ?? RegistrySchema.Kind.avro.rawValue
            guard let kind = RegistrySchema.Kind(rawValue: name) else {
                return .unusable(
                    reason: "its type is \(DecodeError.shown(name)), which is none of AVRO, PROTOBUF and JSON")
            }
            var references: [RegistrySchema.Reference] = []
            if let list = root.member("references") {
                for element in list.elements {
                    guard let name = element.member("name")?.string, let subject = element.member("subject")?.string,
                        let version = element.member("version")?.int64
                    else { return nil }
                    references.append(.init(name: name, subject: subject, version: version))
                }
            }
            return .schema(RegistrySchema(kind: kind, text: text, references: references))
        } ?? .unavailable(reason: "its answer is not that of a schema registry; correct schemaRegistry.url")
    }

    /// Returns the result of `body` for an answer that is a JSON object, or nil.
    private static func object<Result>(_ bytes: [UInt8], _ body: (JSONValue) -> Result?) -> Result? {
        bytes.withUnsafeBytes { buffer in
            let parser = JSONParser(maximumBytes: max(1, buffer.count))
            guard let root = try? parser.parse(buffer).root, root.kind == .object else { return nil }
            return body(root)
        }
    }
}
