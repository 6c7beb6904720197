import Foundation
import Testing

@testable import IngestCore
@testable import RecordFiles

@Suite struct RecordFileReaderTests {
    @Test(arguments: [
        ("a.jsonl", "[1]\n[2]\n", RecordFileFormat.jsonLines), ("a.NDJSON", "{}", .jsonLines), ("a.csv", "{}", .csv),
        ("a.json", " \n[1]", .jsonArray), ("a.json", "\u{FEFF}{\"a\":1}\n", .jsonLines), ("events", "a,b\n1,2\n", .csv),
        ("a.json", "", .jsonLines), ("a.b/c.txt", "[", .jsonArray),
    ])
    func `tells the format`(name: String, text: String, format: RecordFileFormat) throws {
        let folder = TestFolder()
        let path = folder.write(name.replacingOccurrences(of: "/", with: "-"), text)
        for bufferBytes in [1, 4096] {
            #expect(try RecordFileReader(path: path, bufferBytes: bufferBytes).format == format)
        }
        let compressed = folder.write(
            "x" + name.replacingOccurrences(of: "/", with: "-") + ".gz", gzip(Array(text.utf8)))
        #expect(try RecordFileReader(path: compressed).format == format)
    }

    @Test func `an explicit format wins`() throws {
        let folder = TestFolder()
        #expect(try RecordFileReader(path: folder.write("a.csv", "[1]"), format: .jsonArray).format == .jsonArray)
    }

    @Test func `explains what it cannot open`() throws {
        let folder = TestFolder()
        let missing = readAll(folder.path + "/none.jsonl").error
        #expect(missing?.code == "file.missing" && missing?.isRetriable == false)
        #expect(
            missing?.description.hasSuffix("none.jsonl: there is no such file. Check the path [file.missing]") == true)
        let directory = readAll(folder.path).error
        #expect(directory?.kind == .unreadable && directory?.detail == "it is a directory")
    }

    @Test(
        arguments: ["a.csv", "a.jsonl", "a.json", "a"],
        [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32])
    func `another encoding is refused with its name`(name: String, encoding: String.Encoding) throws {
        let folder = TestFolder()
        let bytes = [UInt8](try #require("id,name\n1,Ada\n".data(using: encoding)))
        for path in [folder.write(name, bytes), folder.write(name + ".gz", gzip(bytes))] {
            let error = readAll(path).error
            #expect(error?.code == "file.encoding" && error?.remedy.contains("iconv") == true)
        }
    }

    @Test func `reads pipes without a total`() throws {
        let folder = TestFolder()
        let path = folder.path + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        let writer = Thread {
            guard let file = FileHandle(forWritingAtPath: path) else { return }
            for number in 1...1000 { file.write(Data("{\"n\":\(number)}\n".utf8)) }
            try? file.close()
        }
        writer.start()
        let (records, error, reader) = readAll(path)
        #expect(records.count == 1000 && error == nil)
        #expect(reader?.totalBytes == nil && reader?.fingerprint == nil)
        #expect(reader?.format == .jsonLines)
    }

    @Test(arguments: RecordFileFormat.allCases) func `resumes by skipping`(format: RecordFileFormat) throws {
        let folder = TestFolder()
        let rows = (1...500).map { "{\"n\":\($0)}" }
        let text =
            switch format {
            case .jsonLines: rows.joined(separator: "\n\n")
            case .jsonArray: "[\(rows.joined(separator: ",\n"))]"
            case .csv: "n\n" + (1...500).map { "\"\($0)\"\n" }.joined()
            }
        let path = folder.write("a", text)
        let all = readAll(path, format: format).records
        #expect(all.count == 500)
        for skipped in [0, 1, 250, 499, 500] {
            let reader = try RecordFileReader(path: path, format: format, bufferBytes: 64)
            #expect(try reader.skip(records: skipped) == skipped)
            #expect(reader.recordNumber == skipped)
            var rest: [SeenRecord] = []
            while try reader.next({ rest.append(SeenRecord($0)) }) {}
            #expect(rest == Array(all[skipped...]))
        }
        #expect(try RecordFileReader(path: path, format: format).skip(records: 1000) == 500)
    }

    @Test func `moves on when the body throws`() throws {
        struct Refused: Error {}
        let folder = TestFolder()
        let reader = try RecordFileReader(path: folder.write("a.jsonl", "1\n2\n"))
        #expect(throws: Refused.self) { try reader.next { _ in throw Refused() } }
        var text = ""
        #expect(try reader.next { text = String(decoding: $0.value, as: UTF8.self) })
        #expect(text == "2")
        #expect(try !reader.next { _ in })
        #expect(try !reader.next { _ in })
    }

    @Test func `faults are thrown again`() throws {
        let folder = TestFolder()
        let reader = try RecordFileReader(path: folder.write("a.json", "[1,"))
        #expect(try reader.next { _ in })
        for _ in 0..<2 { #expect(throws: RecordFileError.self) { try reader.next { _ in } } }
    }

    @Test func `fingerprints tell files apart`() throws {
        let folder = TestFolder()
        func reader(_ bytes: [UInt8]) throws -> RecordFileReader {
            try RecordFileReader(path: folder.write("a.jsonl", bytes))
        }
        let first = try #require(try reader(Array("{\"a\":1}\n".utf8)).fingerprint)
        #expect(FileFingerprint(first.description) == first)
        #expect(first.byteCount == 8)
        #expect(try reader(Array("{\"a\":1}\n{\"b\":2}\n".utf8)).isSameFile(as: first))
        #expect(try !reader(Array("{\"a\":2}\n{\"b\":2}\n".utf8)).isSameFile(as: first))
        #expect(try !reader(Array("{\"a\":1}".utf8)).isSameFile(as: first))
        var large = [UInt8](repeating: 0x0A, count: 100_000)
        let whole = try #require(try reader(large).fingerprint)
        #expect(whole.byteCount == 65_536)
        large[70_000] = 0x31
        #expect(try reader(large).fingerprint == whole)
        large[60_000] = 0x31
        #expect(try reader(large).fingerprint != whole)
        for text in ["", "5", "8-12", "-1-0123456789abcdef", "99999999-0123456789abcdef", "8-0123456789abcdeg"] {
            #expect(FileFingerprint(text) == nil)
        }
    }

    @Test(arguments: RecordFileError.Kind.allCases) func `errors say what where and what to do`(
        kind: RecordFileError.Kind
    ) {
        let error = RecordFileError(kind, path: "-", line: 3, recordNumber: 2, byteOffset: 9)
        #expect(error.description.hasPrefix("standard input (line 3, after record 2, byte 9 of the file): "))
        #expect(error.description.hasSuffix("[\(error.code)]") && error.code.hasPrefix("file.") && !error.isRetriable)
    }

    @Test func `faults of records say what to do`() {
        #expect(
            RecordFault.fieldCount(expected: 5, found: 1).description
                == "The row has 1 field and the header 5. Quote the fields that hold a delimiter or a line break.")
        #expect(RecordFault.missingComma.code == "record.comma")
    }
}
