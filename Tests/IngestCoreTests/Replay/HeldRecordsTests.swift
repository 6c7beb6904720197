import Testing

@testable import IngestCore
@testable import RecordDecoding
@testable import RecordFiles

@Suite struct HeldRecordsTests {
    /// Reads a file as a replay does, and returns its records, the records seen ahead, and the error at the end.
    private func read(
        _ path: String, looksAhead: Bool, before: (Int, Int) -> Void = { _, _ in }
    ) throws -> (records: [String], ahead: [String], error: RecordFileError?) {
        let reader = try RecordFileReader(path: path)
        var records = HeldRecords(looksAhead: looksAhead)
        var (found, ahead): ([String], [String]) = ([], [])
        func text(_ record: FileRecord) -> String {
            "\(record.number) \(String(decoding: record.value, as: UTF8.self))"
        }
        do {
            while try records.next(
                of: reader,
                expect: {
                    ahead.append(text($0))
                    return true
                },
                { record in
                    found.append(text(record))
                    before(found.count, ahead.count)
                })
            {
                #expect(reader.recordNumber - records.count == found.count)
            }
            return (found, ahead, nil)
        } catch let error as RecordFileError {
            return (found, ahead, error)
        }
    }

    @Test(arguments: [false, true])
    func `records come in their order, and are given ahead once`(_ looksAhead: Bool) throws {
        let lines = (1...100).map { "{\"n\":\($0)}" }
        let folder = TestFolder()
        let path = folder.write("a.jsonl", lines.joined(separator: "\n"))
        let read = try read(path, looksAhead: looksAhead) { delivered, ahead in
            #expect(looksAhead ? (delivered...delivered + RecordsAhead.limit).contains(ahead) : ahead == 0)
        }
        #expect(read.records == lines.enumerated().map { "\($0 + 1) \($1)" } && read.error == nil)
        #expect(read.ahead == (looksAhead ? read.records : []))
    }

    @Test func `large records are not gathered`() throws {
        let lines = (1...8).map { _ in "\"" + String(repeating: "x", count: 50_000) + "\"" }
        let folder = TestFolder()
        let path = folder.write("a.jsonl", lines.joined(separator: "\n"))
        let read = try read(path, looksAhead: true) { delivered, ahead in #expect(ahead <= delivered + 2) }
        #expect(read.records.count == 8)
    }

    @Test func `the records before an error come first`() throws {
        let folder = TestFolder()
        let whole = gzip(Array((1...50).map { "{\"n\":\($0)}\n" }.joined().utf8))
        let path = folder.write("a.jsonl.gz", Array(whole.dropLast(4)))
        let (alone, held) = (try read(path, looksAhead: false), try read(path, looksAhead: true))
        #expect(held.records == alone.records && held.error?.code == alone.error?.code && held.error != nil)
        #expect(!held.records.isEmpty)
    }
}
