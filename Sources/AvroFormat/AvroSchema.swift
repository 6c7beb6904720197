import Foundation

/// A schema that was read from its JSON. Types refer to each other by index, so that recursive ones end.
public struct AvroSchema: Sendable {
    enum Logical: Hashable, Sendable {
        case decimal(scale: Int)
        /// A number of Kafka Connect, whose scale Avro does not allow: above the precision, or below zero.
        case connectDecimal(scale: Int)
        case date, duration, uuid
        case time(digits: Int)
        case timestamp(digits: Int, isLocal: Bool)
        /// A record of a scale and unscaled bytes.
        case scaledDecimal
    }

    enum Kind: Hashable, Sendable {
        case null, boolean, int, long, float, double, bytes, string
        case fixed(size: Int)
        case enumeration([String])
        case array(Int)
        case map(Int)
        case union([Int])
        case record([Field])
    }

    struct Field: Hashable, Sendable {
        let name: String
        let type: Int
    }

    struct Node: Hashable, Sendable {
        var kind: Kind
        var logical: Logical?
    }

    let nodes: [Node]
    let root: Int

    /// Reads a schema's JSON, at most ``AvroLimits/schemaBytes`` long.
    ///
    /// - Parameters:
    ///   - json: the schema.
    ///   - others: the JSON of schemas whose types this one uses, each behind the schemas that it uses itself.
    ///   - limits: the bounds that keep a schema from exhausting the memory.
    /// - Throws: ``AvroError``.
    public init(json: String, using others: [String] = [], limits: AvroLimits = AvroLimits()) throws(AvroError) {
        var parser = AvroSchemaParser(limits: limits)
        var index = 0
        for text in others + [json] {
            guard text.utf8.count <= limits.schemaBytes else { throw .limit("schemaBytes") }
            guard let value = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
            else {
                throw .schema("it is not JSON")
            }
            index = try parser.parse(value, namespace: "", depth: 0)
        }
        root = index
        nodes = parser.nodes
    }
}
