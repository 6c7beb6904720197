import Testing

@testable import IngestCore

@Suite struct JSONLinesTests {
    @Test func `delivers lines with their places`() throws {
        let folder = TestFolder()
        let path = folder.write("a.jsonl", "\u{FEFF}{\"a\":1}\r\n\n  \t\r\n{\"b\":2}\n[3]")
        let (records, error, reader) = readAll(path)
        #expect(error == nil)
        #expect(records.map(\.text) == ["{\"a\":1}", "{\"b\":2}", "[3]"])
        #expect(records.map(\.number) == [1, 2, 3])
        #expect(records.map(\.line) == [1, 4, 5])
        #expect(records.map(\.byteOffset) == [3, 18, 26])
        #expect(records.allSatisfy { $0.fault == nil && !$0.isOversize && $0.fields.isEmpty })
        #expect(reader?.bytesRead == reader?.totalBytes && reader?.totalBytes == 29)
    }

    @Test(arguments: ["", "\n", "\r\n \n", "\u{FEFF}"]) func `has no records in blank files`(text: String) {
        let folder = TestFolder()
        let (records, error, _) = readAll(folder.write("a.jsonl", text))
        #expect(records.isEmpty && error == nil)
    }

    @Test(arguments: ["{\n  \"id\": 1\n}\n", "\u{FEFF}\n { \r\n\t\"a\""])
    func `refuses one document over several lines`(text: String) {
        let folder = TestFolder()
        for bufferBytes in [1, 4096] {
            let path = folder.write("a.jsonl", text)
            #expect(readAll(path, bufferBytes: bufferBytes).error?.kind == .document)
        }
        // One that is cut behind its brace is a broken record like others.
        #expect(readAll(folder.write("a.jsonl", "{\n{\"b\":2}\n")).records.count == 2)
        let (records, error, _) = readAll(folder.write("a.jsonl", text))
        #expect(records.isEmpty && error?.kind == .document)
        #expect(error?.description.contains("jq -c") == true)
    }

    @Test func `marks oversized records and goes on`() {
        let folder = TestFolder()
        let long = String(repeating: "x", count: 1000)
        let path = folder.write("a.jsonl", "{1}\n\(long)\r\n{2}\n\(long)")
        for bufferBytes in [1, 7, 64, 103, 4096] {
            let records = readAll(path, maximumRecordBytes: 100, bufferBytes: bufferBytes).records
            #expect(records.map(\.number) == [1, 2, 3, 4])
            #expect(records.map(\.isOversize) == [false, true, false, true])
            #expect(records.map(\.totalBytes) == [3, 1000, 3, 1000])
            #expect(records.map(\.byteOffset) == [0, 4, 1006, 1010])
            #expect(records[1].text == String(long.prefix(100)))
            #expect(records[2].text == "{2}")
        }
    }

    @Test func `holds a record of exactly the limit`() {
        let folder = TestFolder()
        for (length, isOversize) in [(99, false), (100, false), (101, true), (102, true), (103, true)] {
            for end in ["\n", "\r\n", ""] {
                let path = folder.write("a.jsonl", String(repeating: "y", count: length) + end)
                for bufferBytes in [1, 100, 101, 102, 1000] {
                    let records = readAll(path, maximumRecordBytes: 100, bufferBytes: bufferBytes).records
                    #expect(records.map(\.isOversize) == [isOversize])
                    #expect(records.map(\.totalBytes) == [length], "\(length) \(bufferBytes)")
                }
            }
        }
    }

    @Test func `keeps sixty four kibibytes of a huge record`() {
        let folder = TestFolder()
        let path = folder.write("a.jsonl", [UInt8](repeating: 0x7A, count: 3 << 20) + Array("\n{}\n".utf8))
        let records = readAll(path, maximumRecordBytes: 1 << 20).records
        #expect(records.map(\.text.utf8.count) == [64 << 10, 2])
        #expect(records.map(\.totalBytes) == [3 << 20, 2])
        #expect(records.map(\.line) == [1, 2])
    }
}
