import Foundation

/// A schema that was read from its JSON. Types refer to each other by index, so that recursive ones end.
public struct AvroSchema: Sendable {
    enum Logical: Hashable, Sendable {
        case decimal(scale: Int)
        case date, duration, uuid
        case time(digits: Int)
        case timestamp(digits: Int, isLocal: Bool)
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
    public init(json: String, limits: AvroLimits = AvroLimits()) throws(AvroError) {
        guard json.utf8.count <= limits.schemaBytes else { throw .limit("schemaBytes") }
        var parser = AvroSchemaParser(limits: limits)
        guard let value = try? JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed) else {
            throw .schema("it is not JSON")
        }
        root = try parser.parse(value, namespace: "", depth: 0)
        nodes = parser.nodes
    }
}
