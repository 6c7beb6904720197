import AvroFormat
import GraphCore

#if Protobuf
import ProtobufFormat
#endif

/// A schema that is ready to read the data written with it.
enum RegisteredSchema: Sendable {
    /// The schema of content that is JSON already.
    case json
    case avro(AvroDecoder)
    #if Protobuf
    case protobuf(ProtobufSchema)
    #endif

    /// Prepares a schema.
    ///
    /// - Parameters:
    ///   - references: the schemas that this one uses, each behind the schemas that it uses itself.
    ///   - unusable: makes the error for a reason.
    init(
        _ schema: RegistrySchema, references: [(name: String, text: String)], limits: LimitConfiguration,
        unusable: (String) -> DecodeError
    ) throws(DecodeError) {
        switch schema.kind {
        case .json: self = .json
        case .avro:
            var bounds = AvroLimits()
            (bounds.depth, bounds.jsonBytes) = (limits.maxDepth, limits.maxRecordBytes)
            do throws(AvroError) {
                let schema = try AvroSchema(json: schema.text, using: references.map(\.text), limits: bounds)
                self = .avro(AvroDecoder(schema: schema, limits: bounds))
            } catch {
                throw unusable(error.reason)
            }
        case .protobuf:
            #if Protobuf
            var bounds = ProtobufLimits()
            // A level of a Struct takes three messages; the reader of messages calls itself, and its stack has an end.
            (bounds.depth, bounds.jsonBytes) = (min(limits.maxDepth * 3, 300), limits.maxRecordBytes)
            bounds.memoryBytes = max(bounds.memoryBytes, limits.maxRecordBytes * 16)
            do throws(ProtobufError) {
                self = .protobuf(try ProtobufSchema(text: schema.text, imports: references, limits: bounds))
            } catch {
                throw unusable(error.reason)
            }
            #else
            throw unusable("it is one of Protobuf, and the program was built without the package trait of that name")
            #endif
        }
    }

    /// Returns the JSON of data that was written with the schema.
    ///
    /// - Throws: ``DecodeError`` with code `avro.invalid` or `protobuf.invalid` where the schema did not write it.
    func json(of content: RegisteredContent) throws(DecodeError) -> [UInt8] {
        switch self {
        case .json: return content.bytes
        case .avro(let decoder):
            do throws(AvroError) {
                return try decoder.json(content.bytes)
            } catch {
                throw Self.misfit("avro.invalid", content, error.reason)
            }
        #if Protobuf
        case .protobuf(let schema):
            do throws(ProtobufError) {
                return try schema.json(indexed: content.bytes)
            } catch {
                throw Self.misfit("protobuf.invalid", content, error.reason)
            }
        #endif
        }
    }

    private static func misfit(_ code: String, _ content: RegisteredContent, _ reason: String) -> DecodeError {
        DecodeError(
            code: code, "The record does not fit \(content.schema), which it names: \(reason). Check its producer")
    }
}
