import Foundation
import Testing

@testable import IngestCore
@testable import RecordFiles

/// Container files of Avro, read as JSON lines. `Tests/Avro/write` has made the files with another program.
@Suite struct AvroFileTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Avro")
    private let workspace = FileManager.default.temporaryDirectory.appending(path: "avro-\(UUID().uuidString)")

    private func bytes(_ codec: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: Self.folder.appending(path: "readings-\(codec).avro")))
    }

    private func read(_ path: String, maximumRecordBytes: Int = 1 << 20, depth: Int = 64) throws -> [String] {
        var lines: [String] = []
        let reader = try RecordFileReader(path: path, maximumRecordBytes: maximumRecordBytes, maximumDepth: depth)
        while try reader.next({ lines.append(String(decoding: $0.value, as: UTF8.self)) }) {}
        return lines
    }

    private func read(_ bytes: [UInt8], depth: Int = 64) throws -> [String] {
        try FileManager.default.createDirectory(at: workspace, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: workspace) }
        let file = workspace.appending(path: "any name")
        try Data(bytes).write(to: file)
        return try read(file.path, depth: depth)
    }

    @Test(arguments: ["null", "deflate"])
    func `a file of another program is read record by record`(_ codec: String) throws {
        let lines = try read(Self.folder.appending(path: "readings-\(codec).avro").path)
        #expect(lines.count == 40)
        #expect(
            lines[2]
                == #"{"id":"00000000-0000-0000-0000-000000000003","number":9007199254740995,"cost":"1.25","#
                + #""at":"2026-01-02T03:04:05.600003Z","day":"2026-01-04","state":"OPEN","#
                + #""note":"Ünï \"quoted\"\u000aline","tags":["t0","t1","t2"],"sizes":{"a":0.375},"raw":"A/8A","parent":null}"#
        )
        #expect(lines[0].contains(#""cost":"-0.75""#) && lines[4].contains(#""parent":{"id":"#))
    }

    @Test func `a file that is cut anywhere gives the records of its whole blocks and then says so`() throws {
        let whole = try bytes("null")
        let all = try read(whole)
        var counts: Set<Int> = []
        for length in stride(from: whole.count - 1, to: 4, by: -37) {
            var lines: [String] = []
            do {
                lines = try read(Array(whole[..<length]))
            } catch let error as RecordFileError {
                #expect(error.kind == .avroTruncated || error.kind == .avroSchema, "\(length): \(error)")
                lines = Array(all.prefix(error.recordNumber ?? 0))
            }
            counts.insert(lines.count)
            #expect(Array(all.prefix(lines.count)) == lines)
        }
        #expect(counts.count > 2)
    }

    @Test(arguments: ["null", "deflate"]) func `damage is found with its place`(_ codec: String) throws {
        let whole = try bytes(codec)
        var faults = 0
        for place in stride(from: 4, to: whole.count, by: 7) {
            var damaged = whole
            damaged[place] ^= 0xD5
            do {
                _ = try read(damaged)
            } catch let error as RecordFileError {
                faults += 1
                #expect("\(error)".contains("avro") || "\(error)".contains("Avro"), "\(error)")
            }
        }
        #expect(faults > 50)
    }

    @Test func `a record may be as deep as the limit allows`() throws {
        // A number of base 128, the lower digits first, doubled for its sign.
        func number(_ value: Int) -> [UInt8] {
            value < 64 ? [UInt8(value * 2)] : [UInt8(value * 2 % 128 + 128), UInt8(value * 2 / 128)]
        }
        func text(_ text: String) -> [UInt8] { number(text.utf8.count) + Array(text.utf8) }
        let schema = #"{"type":"record","name":"N","fields":[{"name":"n","type":["null","N"]}]}"#
        let mark = Array("0123456789abcdef".utf8)
        // Each level of the JSON is a record and a union.
        func file(levels: Int) -> [UInt8] {
            let record = [UInt8](repeating: 2, count: levels - 1) + [0]
            let parts: [[UInt8]] = [
                AvroByteSource.magic, number(1), text("avro.schema"), text(schema), number(0), mark, number(1),
                number(record.count), record, mark,
            ]
            return Array(parts.joined())
        }
        for (levels, depth) in [(60, 64), (100, 128)] {
            let lines = try read(file(levels: levels), depth: depth)
            #expect(lines.count == 1 && lines[0].filter { $0 == "{" }.count == levels)
        }
        #expect(throws: RecordFileError.self) { try read(file(levels: 100)) }
    }

    @Test func `a codec that is not supported is named`() throws {
        #expect(throws: RecordFileError.self) { try read(bytes("bzip2")) }
        do {
            _ = try read(bytes("bzip2"))
        } catch let error as RecordFileError {
            #expect(error.code == "file.avro.codec" && error.remedy.contains("deflate"))
        }
    }

    @Test func `a length beyond all bounds takes no memory`() throws {
        let whole = try bytes("null")
        let mark = Array("0123456789abcdef".utf8)
        let header = try #require(whole.firstRange(of: mark)).upperBound
        // A block of 2^62 records, one of 2^40 bytes, and one of a million records without bytes.
        for head: [UInt8] in [
            [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x02],
            [0x02, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40],
            [0x80, 0x89, 0x7A, 0x00],
        ] {
            do {
                _ = try read(Array(whole[..<header]) + head + mark)
                Issue.record("a block without bounds was taken")
            } catch let error as RecordFileError {
                #expect(error.kind == .avroCorrupt && error.byteOffset != nil, "\(error)")
            }
        }
    }
}
