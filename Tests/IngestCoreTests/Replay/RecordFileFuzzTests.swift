import TestSupport
import Testing

@testable import IngestCore
@testable import RecordFiles

/// Seeded damage: whatever the bytes, the readers end, count without gaps, lose nothing, and do not depend on the buffer.
@Suite struct RecordFileFuzzTests {
    private static let samples: [RecordFileFormat: String] = [
        .jsonLines: "{\"a\":\"x\\\"y\"}\r\n\n[1,2]\n\"s\"\n  {\"b\":{\"c\":[]}}\n12345",
        .jsonArray:
            "[ {\"a\":\"},]\\\"[\"} ,\n\"x,\\\\\",1,-2.5e3 ,{\"d\":[{\"e\":\"\\u00e9\"}]}, null,\n\n[ [1,2],{} ]\r\n]\n",
        .csv:
            "id,name,note\r\n1,plain,\"a, b\"\r\n\r\n2,\"two\r\nlines\",\"say \"\"hi\"\"\"\n3,,\"\"\n4,\"x\"\r\n5,6,7",
    ]

    @Test(arguments: RecordFileFormat.allCases) func `every buffer size gives the same records`(
        format: RecordFileFormat
    ) throws {
        let folder = TestFolder()
        let sample = try #require(Self.samples[format])
        let path = folder.write("a", "\u{FEFF}" + sample)
        let expected = readAll(path, format: format)
        #expect(expected.error == nil && expected.records.count >= 4)
        for bufferBytes in 1...sample.utf8.count + 5 {
            let result = readAll(path, format: format, bufferBytes: bufferBytes)
            #expect(result.records == expected.records && result.error == nil, "\(bufferBytes)")
        }
    }

    @Test(arguments: RecordFileFormat.allCases) func `damage neither stops nor splits the count`(
        format: RecordFileFormat
    )
        throws
    {
        var random = SeededRandom.forTest("damageNeitherStopsNorSplitsTheCount")
        let folder = TestFolder()
        let sample = Array(try #require(Self.samples[format]).utf8)
        for _ in 0..<400 {
            let bytes = random.mutate(random.mutate(sample))
            let path = folder.write("a", bytes)
            let expected = readAll(path, format: format, maximumRecordBytes: 64)
            #expect(expected.records.map(\.number) == Array(1..<(expected.records.count + 1)))
            check(expected.records, of: bytes, format)
            for _ in 0..<3 {
                let size = random.number(below: bytes.count + 10) + 1
                let result = readAll(path, format: format, maximumRecordBytes: 64, bufferBytes: size)
                #expect(result.records == expected.records, "buffer \(size), bytes \(bytes)")
                #expect(result.error == expected.error, "buffer \(size), bytes \(bytes)")
            }
        }
    }

    /// Records do not overlap, follow one another, hold the file's own bytes, and have the right lines.
    private func check(_ records: [SeenRecord], of bytes: [UInt8], _ format: RecordFileFormat) {
        var end = 0
        for record in records {
            let place = record.byteOffset..<(record.byteOffset + record.totalBytes)
            guard place.lowerBound >= end, place.upperBound <= bytes.count else {
                Issue.record("record \(record.number) at \(place) of \(bytes)")
                return
            }
            let kept = bytes[place].prefix(record.isOversize ? 64 : .max)
            #expect(record.text == String(decoding: kept, as: UTF8.self))
            #expect(record.isOversize == (record.totalBytes > 64))
            end = place.upperBound
        }
        // Where damage quotes each line feed, a CSV file has the lines that carriage returns end.
        let lineEnds: [UInt8] = format == .csv ? [0x0A, 0x0D] : [0x0A]
        let haveRightLines = lineEnds.contains { lineEnd in
            records.allSatisfy { record in
                record.line == 1 + bytes[..<record.byteOffset].count { $0 == lineEnd }
            }
        }
        #expect(haveRightLines, "\(bytes)")
    }

    @Test func `between elements is only punctuation`() {
        var random = SeededRandom.forTest("whatIsBetweenElementsIsOnlyPunctuation")
        let folder = TestFolder()
        let sample = Array((Self.samples[.jsonArray] ?? "").utf8)
        for _ in 0..<400 {
            let bytes = random.mutate(sample)
            let result = readAll(folder.write("a", bytes), format: .jsonArray)
            // A NUL among the first two bytes says UTF-16.
            if [.notAnArray, .encoding].contains(result.error?.kind) { continue }
            var rest = bytes
            for record in result.records.reversed() {
                rest.removeSubrange(record.byteOffset..<(record.byteOffset + record.totalBytes))
            }
            // A mark that is the byte order mark's would stand here too; the sample has none.
            #expect(rest.allSatisfy { Array(" \t\r\n,[]".utf8).contains($0) }, "\(bytes)")
        }
    }
}
