import Foundation
import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Calls the body with the root of a parsed text.
func withJSON<Result>(_ text: String, depthLimit: Int = 64, _ body: (JSONValue) throws -> Result) throws -> Result {
    let parser = JSONParser(depthLimit: depthLimit)
    return try Array(text.utf8).withUnsafeBytes { try parser.withValue(of: $0, body) }
}

func jsonError(_ bytes: [UInt8], depthLimit: Int = 64, maximumBytes: Int = 1 << 20) -> JSONError? {
    do {
        _ = try JSONParser(depthLimit: depthLimit, maximumBytes: maximumBytes).parse(bytes)
        return nil
    } catch {
        return error
    }
}

@Suite struct JSONParserTests {
    @Test func `reuses its memory and gives back a huge record's share`() throws {
        let parser = JSONParser()
        defer { withExtendedLifetime(parser) {} }
        #expect(try parser.parse(Array("1".utf8)).root.int64 == 1)
        let huge = [UInt8](repeating: 0x20, count: 5 << 20) + Array("2".utf8)
        #expect(try parser.parse(huge).root.int64 == 2)
        #expect(parser.capacityBytes >= 5 << 20)
        #expect(try parser.parse(Array("[3]".utf8)).root.count == 1)
        #expect(parser.capacityBytes < 1 << 20)
        // The depth limit outlives the change of memory.
        let deep = Array((String(repeating: "[", count: 65) + "1" + String(repeating: "]", count: 65)).utf8)
        #expect(throws: JSONError.self) { try parser.parse(deep) }
    }

    @Test func `skips a byte order mark and counts it in offsets`() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let parser = JSONParser()
        defer { withExtendedLifetime(parser) {} }
        #expect(try parser.parse(mark + Array("{}".utf8)).root.kind == .object)
        #expect(jsonError(mark + Array("{x}".utf8))?.byteOffset == 4)
        #expect(jsonError(mark)?.kind == .empty)
    }

    @Test func `goes on after a fault`() throws {
        let parser = JSONParser()
        defer { withExtendedLifetime(parser) {} }
        #expect(throws: JSONError.self) { try parser.parse(Array("{".utf8)) }
        #expect(try parser.parse(Array("{\"a\":1}".utf8)).root.member("a")?.int64 == 1)
    }

    @Test(arguments: [1, 2, 64, 1024]) func `allows exactly the depth limit`(limit: Int) throws {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + "1" + String(repeating: "]", count: levels)).utf8)
        }
        let atLimit = jsonError(nested(limit), depthLimit: limit)
        let error = jsonError(nested(limit + 1), depthLimit: limit)
        let farBeyond = jsonError(nested(10_000), depthLimit: limit)
        #expect(atLimit == nil)
        #expect(error == JSONError(.depth, byteOffset: limit, limit: limit))
        #expect(farBeyond?.kind == .depth)
    }

    @Test func `refuses what is longer than the limit`() throws {
        let error = try #require(jsonError(Array("[1,2,3,4]".utf8), maximumBytes: 8))
        #expect(error == JSONError(.size, limit: 8))
        #expect(jsonError(Array("[1,2,34]".utf8), maximumBytes: 8) == nil)
    }

    @Test func `reads text of any length`() throws {
        // Lengths around the library's blocks of 64 bytes.
        let parser = JSONParser()
        defer { withExtendedLifetime(parser) {} }
        for length in 0...300 {
            let text = "{\"key\":\"" + String(repeating: "ä\\n", count: length) + "\",\"n\":[\(length),-1.5e3]}"
            let root = try parser.parse(Array(text.utf8)).root
            #expect(root.member("key")?.string == String(repeating: "ä\n", count: length))
            #expect(root.member("n")?.elements.map(\.double) == [Double(length), -1500])
        }
    }

    @Test func `never crashes on damaged text`() throws {
        var random = SeededRandom.forTest("neverCrashesOnDamagedText")
        let seeds = [
            #"{"id":"a1","seq":12,"data":{"list":[1,-2.5e10,true,false,null,"x\u00e9\n"],"o":{}},"z":[[],[{}]]}"#,
            #"[18446744073709551615,-9223372036854775808,"\ud83d\ude00",0.1,{"a":{"b":{"c":[1]}}}]"#,
            #"{"a":18446744073709551616,"b":[-9223372036854775809,1e400,{}],"c":0.1234567890123456789}"#,
        ].map { Array($0.utf8) }
        let parser = JSONParser(depthLimit: 8)
        defer { withExtendedLifetime(parser) {} }
        let reader = JSONParser()
        var accepted = 0
        var output: [UInt8] = []
        for round in 0..<20_000 {
            let bytes = random.mutate(seeds[round % seeds.count])
            do {
                let root = try parser.parse(bytes).root
                output.removeAll(keepingCapacity: true)
                root.serialize(into: &output)
                let again = output.withUnsafeBytes { try? reader.withValue(of: $0) { $0.serialized() } }
                #expect(again == output)
                accepted += 1
            } catch {
                #expect(error.byteOffset.map { (0...bytes.count).contains($0) } ?? true)
                #expect(!error.description.isEmpty)
            }
        }
        #expect(accepted > 0)
    }

    @Test func `fault finder agrees with the library`() throws {
        var random = SeededRandom.forTest("faultFinderAgreesWithTheLibrary")
        let seed = Array(#"{"a":[1,2.5,"x\u00e9",true,null,1e999],"b":{"c":-0.5e3,"d":18446744073709551616}}"#.utf8)
        let parser = JSONParser()
        defer { withExtendedLifetime(parser) {} }
        for _ in 0..<3_000 {
            // The finder is a second reader of the same grammar: it finds a fault where the library does, and only there.
            let bytes = random.mutate(seed)
            let isAccepted = (try? parser.parse(bytes)) != nil
            let found = bytes.withUnsafeBytes { buffer in
                var finder = JSONFaultFinder(bytes: buffer, depthLimit: 64)
                return finder.find() ?? UTF8Fault.firstOffset(in: buffer).map { JSONError(.utf8, byteOffset: $0) }
            }
            #expect(isAccepted == (found == nil), "\(bytes) \(String(describing: found))")
        }
    }
}
