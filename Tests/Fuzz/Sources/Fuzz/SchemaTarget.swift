import AvroFormat
import Foundation
import ProtobufFormat

/// Bytes are read by schemas of Avro and Protobuf, and as schemas: whatever comes ends as JSON or as an error with words.
struct SchemaTarget: FuzzTarget {
    private let avro: [AvroDecoder]
    private let protobuf: ProtobufSchema
    private let limits: AvroLimits

    init() throws {
        var limits = AvroLimits()
        (limits.jsonBytes, limits.depth) = (1 << 20, 32)
        self.limits = limits
        avro = try Self.avroSchemas.map { text in
            AvroDecoder(schema: try AvroSchema(json: text, limits: limits), limits: limits)
        }
        protobuf = try Self.compiled(Self.protobufSchema)
    }

    private static func compiled(_ text: String) throws(ProtobufError) -> ProtobufSchema {
        var limits = ProtobufLimits()
        (limits.jsonBytes, limits.memoryBytes, limits.depth) = (1 << 20, 16 << 20, 60)
        return try ProtobufSchema(text: text, limits: limits)
    }

    private static let avroSchemas = [
        #"""
        {"type":"record","name":"R","fields":[
         {"name":"a","type":{"type":"array","items":["null","R","string","double"]}},
         {"name":"m","type":{"type":"map","values":{"type":"bytes","logicalType":"decimal","precision":9,"scale":3}}},
         {"name":"t","type":{"type":"long","logicalType":"timestamp-micros"}},
         {"name":"d","type":{"type":"fixed","name":"D","size":12,"logicalType":"duration"}},
         {"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}}]}
        """#,
        #"{"type":"array","items":{"type":"array","items":"null"}}"#,
        #"""
        {"type":"record","name":"V","connect.name":"io.debezium.data.VariableScaleDecimal",
         "fields":[{"name":"scale","type":"int"},{"name":"value","type":"bytes"}]}
        """#,
    ]

    private static let protobufSchema = """
        syntax = "proto3";
        import "google/protobuf/struct.proto";
        import "google/protobuf/timestamp.proto";
        import "google/protobuf/any.proto";
        message A {
          repeated A a = 1; string s = 2; bytes b = 3; map<string, A> m = 4; map<int64, double> n = 5;
          repeated sint32 p = 6; oneof o { float f = 7; google.protobuf.Struct t = 8; }
          google.protobuf.Timestamp at = 9; google.protobuf.Any any = 10; enum E { X = 0; Y = 1; } repeated E e = 11;
          message I { fixed64 x = 1; }
          optional I i = 12;
        }
        """

    /// The first byte chooses the schema, or takes the rest as the text of one.
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        guard let first = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        let text = String(decoding: rest, as: UTF8.self)
        do {
            switch Int(first) % 6 {
            case let index where index < avro.count: try check(try avro[index].json(rest))
            case 3: try check(try protobuf.json(indexed: rest))
            case 4: try check(try AvroDecoder(schema: AvroSchema(json: text, limits: limits), limits: limits).json([]))
            default: try check(try Self.compiled(text).json(indexed: [0]))
            }
        } catch let error as AvroError {
            if error.reason.isEmpty { throw Broken("an error without words") }
        } catch let error as ProtobufError {
            if error.reason.isEmpty { throw Broken("an error without words") }
        }
    }

    private func check(_ json: [UInt8]) throws {
        do {
            _ = try JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed)
        } catch {
            throw Broken("no JSON: \(String(decoding: json.prefix(500), as: UTF8.self))")
        }
    }
}
