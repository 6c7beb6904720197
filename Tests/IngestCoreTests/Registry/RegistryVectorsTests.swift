import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Records that packages of PyPI wrote; `Tests/Registry/write` writes the file anew.
@Suite struct RegistryVectorsTests {
    struct Vector: Decodable, CustomTestStringConvertible {
        struct Reference: Decodable {
            let name: String
            let schema: String
        }
        let name: String
        let type: String
        let schema: String
        let references: [Reference]
        let content: String
        let json: String

        var testDescription: String { name }
        var bytes: [UInt8] {
            stride(from: 0, to: content.count, by: 2).compactMap { position in
                UInt8(content.dropFirst(position).prefix(2), radix: 16)
            }
        }
    }

    static let vectors: [Vector] = {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Registry")
        guard let data = try? Data(contentsOf: folder.appending(path: "vectors.json")) else { return [] }
        return (try? JSONDecoder().decode([Vector].self, from: data)) ?? []
    }()

    private func registry(_ vector: Vector) -> SchemaRegistry {
        let references = vector.references.enumerated().map { number, reference in
            RegistrySchema.Reference(name: reference.name, subject: "s/\(number)", version: 3)
        }
        let kind = RegistrySchema.Kind(rawValue: vector.type) ?? .json
        return TestRegistry.registry { path in
            if path == "/schemas/ids/300" {
                return .schema(RegistrySchema(kind: kind, text: vector.schema, references: references))
            }
            for (number, reference) in vector.references.enumerated() where path == "/subjects/s%2F\(number)/versions/3"
            {
                return .schema(RegistrySchema(kind: kind, text: reference.schema, references: []))
            }
            return .missing
        }
    }

    private func json(_ bytes: [UInt8], _ registry: SchemaRegistry) throws -> String {
        try ([0, 0, 0, 1, 44] + bytes).withUnsafeBytes { buffer in
            let content = try #require(RegisteredContent(buffer, .value, []))
            return String(decoding: try registry.schema(content.schema).json(of: content), as: UTF8.self)
        }
    }

    @Test func `there are vectors of both formats`() {
        #expect(Set(Self.vectors.map(\.type)) == ["AVRO", "PROTOBUF"])
        #expect(Self.vectors.count >= 7)
    }

    @Test(arguments: vectors)
    func `records of other programs are read`(vector: Vector) throws {
        #expect(try json(vector.bytes, registry(vector)) == vector.json)
    }

    @Test(arguments: vectors)
    func `a cut or changed record is refused or read, and never more`(vector: Vector) throws {
        let registry = registry(vector)
        for count in vector.bytes.indices {
            do { _ = try json(Array(vector.bytes[..<count]), registry) } catch let error as DecodeError {
                #expect(["avro.invalid", "protobuf.invalid"].contains(error.code))
            }
        }
        var random = SeededRandom.forTest("records that a registry's schema reads")
        for _ in 0..<300 {
            let bytes = random.mutate(vector.bytes)
            do {
                let text = try json(bytes, registry)
                #expect((try? JSONSerialization.jsonObject(with: Data(text.utf8))) != nil)
            } catch let error as DecodeError {
                #expect(["avro.invalid", "protobuf.invalid"].contains(error.code))
            }
        }
    }
}
