import TestSupport
import Testing

@testable import IngestCore

@Suite struct GzipTests {
    private let text = (1...5000).map { "{\"n\":\($0),\"text\":\"some text \($0 &* 7919)\"}\n" }.joined()

    @Test func `reads what its name does not say`() {
        let folder = TestFolder()
        let (records, error, reader) = readAll(folder.write("plain.jsonl", gzip(Array(text.utf8))), bufferBytes: 1000)
        #expect(records.count == 5000 && error == nil)
        #expect(records.last?.text.hasPrefix("{\"n\":5000,") == true)
        #expect(reader?.bytesRead == reader?.totalBytes)
        #expect((reader?.totalBytes ?? 0) < text.utf8.count)
    }

    @Test func `reads several members and padding`() {
        let folder = TestFolder()
        let half = Array(text.utf8)
        let split = half.count / 2
        let bytes =
            gzip(Array(half[..<split])) + gzip([]) + gzip(Array(half[split...])) + [UInt8](repeating: 0, count: 600)
        let (records, error, _) = readAll(folder.write("a.jsonl.gz", bytes))
        #expect(records.map(\.text) == text.split(separator: "\n").map(String.init))
        #expect(error == nil)
    }

    @Test func `says where it is truncated`() {
        let folder = TestFolder()
        let whole = gzip(Array(text.utf8))
        for kept in [2, 9, 10, 11, 5000, whole.count - 9, whole.count - 8, whole.count - 1] {
            let (records, error, _) = readAll(folder.write("a.jsonl.gz", Array(whole[..<kept])))
            #expect(error?.kind == .gzipTruncated, "\(kept)")
            #expect(error?.byteOffset == kept)
            // A file that is cut in its first bytes fails when it is opened.
            #expect(error?.recordNumber ?? 0 == records.count)
            // No cut record is delivered.
            #expect(records.allSatisfy { $0.text.hasSuffix("\"}") })
        }
    }

    /// Found by fuzzing: zlib had taken the whole file and still held bytes that there had been no room for.
    @Test func `a cut file gives all that it holds whatever the buffer`() {
        let folder = TestFolder()
        let lines = (1...40).map { "{\"n\":\($0),\"text\":\"\(String(repeating: "again ", count: 30))\"}\n" }.joined()
        let whole = gzip(Array(lines.utf8))
        var most = 0
        for kept in 2..<whole.count {
            let path = folder.write("a.jsonl.gz", Array(whole[..<kept]))
            let wide = readAll(path)
            for bufferBytes in [1, 3, 64] {
                let narrow = readAll(path, bufferBytes: bufferBytes)
                #expect(narrow.records == wide.records, "\(kept) bytes kept, \(bufferBytes) at once")
                #expect(narrow.error?.kind == .gzipTruncated && narrow.error?.byteOffset == kept)
            }
            most = max(most, wide.records.count)
        }
        #expect(most == 40)
    }

    @Test func `says that it is damaged`() {
        let folder = TestFolder()
        var checksum = gzip(Array(text.utf8))
        checksum[checksum.count - 6] ^= 1
        let (records, error, _) = readAll(folder.write("a.jsonl.gz", checksum))
        #expect(records.count == 5000 && error?.kind == .gzipCorrupt)
        var header = gzip(Array(text.utf8))
        header[2] = 99
        #expect(readAll(folder.write("b.jsonl.gz", header)).error?.kind == .gzipCorrupt)
        let trailing = gzip(Array("{}\n".utf8)) + Array("extra".utf8)
        let result = readAll(folder.write("c.jsonl.gz", trailing))
        #expect(result.records.count == 1 && result.error?.kind == .gzipTrailing)
        #expect(result.error?.byteOffset == trailing.count - 5)
        let padded = gzip(Array("{}\n".utf8)) + [0, 0, 0x1F, 0x8B]
        #expect(readAll(folder.write("d.jsonl.gz", padded)).error?.kind == .gzipTrailing)
    }

    @Test func `never crashes on damaged data`() {
        var random = SeededRandom.forTest("neverCrashesOnDamagedData")
        let folder = TestFolder()
        let whole = gzip(Array(text.utf8.prefix(5000)))
        for _ in 0..<500 {
            let result = readAll(folder.write("a.jsonl", [0x1F, 0x8B] + random.mutate(Array(whole[2...]))))
            #expect(result.records.map(\.number) == Array(1..<(result.records.count + 1)))
        }
    }
}
