import Testing

@testable import IngestCore
@testable import RecordFiles

@Suite struct JSONArrayTests {
    private func read(_ text: String, bufferBytes: Int = 4096) -> (records: [SeenRecord], error: RecordFileError?) {
        let folder = TestFolder()
        let result = readAll(folder.write("a.json", text), format: .jsonArray, bufferBytes: bufferBytes)
        return (result.records, result.error)
    }

    @Test func `the reader cuts an array into its elements`() {
        let text = "\u{FEFF} [\n {\"a\":\"},]\\\"[\"} ,\n\"x,\\\\\",1,-2.5e3 , true,null,\n\n[ [1,2],{} ]\n]\n"
        let (records, error) = read(text)
        #expect(error == nil)
        #expect(
            records.map(\.text) == [
                "{\"a\":\"},]\\\"[\"}", "\"x,\\\\\"", "1", "-2.5e3", "true", "null", "[ [1,2],{} ]",
            ])
        #expect(records.map(\.line) == [2, 3, 3, 3, 3, 3, 5])
        #expect(records.map(\.number) == Array(1...7))
        #expect(records[0].byteOffset == 7)
        #expect(records.allSatisfy { $0.fault == nil })
    }

    @Test(arguments: ["", " \n", "[]", "[ \n ]\n", "\u{FEFF}[]"]) func `has no records`(text: String) {
        let (records, error) = read(text)
        #expect(records.isEmpty && error == nil)
    }

    @Test func `refuses what is no array`() {
        let (records, error) = read("\n\n{\"a\":1}")
        #expect(records.isEmpty)
        #expect(error?.kind == .notAnArray && error?.line == 3 && error?.recordNumber == 0)
    }

    struct Case: CustomTestStringConvertible {
        var text: String
        var elements: [String]
        var faults: [RecordFault?]
        init(_ text: String, _ elements: [String], _ faults: [RecordFault?]) {
            (self.text, self.elements, self.faults) = (text, elements, faults)
        }
        var testDescription: String { text }
    }

    @Test(arguments: [
        Case("[{} {}]", ["{}", "{}"], [nil, .missingComma]),
        Case("[1 2]", ["1", "2"], [nil, .missingComma]),
        Case("[\"a\"\"b\"]", ["\"a\"", "\"b\""], [nil, .missingComma]),
        Case("[,1,,2]", ["", "1", "", "2"], [.missingElement, nil, .missingElement, nil]),
        Case("[1,]", ["1"], [nil]),
        Case("[1] tail {}", ["1", "tail {}"], [nil, .trailingContent]),
        Case("[1][2]", ["1", "[2]"], [nil, .trailingContent]),
        Case("[{\"a\":1}},{\"b\":2}]", ["{\"a\":1}", "}", "{\"b\":2}"], [nil, .missingComma, nil]),
        Case("[{\"a\":1]},{\"b\":2}]", ["{\"a\":1]}", "{\"b\":2}"], [nil, nil]),
        Case("[{\"a\":[1,2},{\"b\":2}]", ["{\"a\":[1,2}", "{\"b\":2}"], [nil, nil]),
        Case("[{\"a\":\"x},\n{\"b\":2},\r\n{\"c\":3}]", ["{\"a\":\"x},", "{\"b\":2}", "{\"c\":3}"], [nil, nil, nil]),
        Case("[{\"a\":[\"x\r\n]},{\"b\":2}]", ["{\"a\":[\"x", "}", "{\"b\":2}"], [nil, .missingComma, nil]),
        Case("[nonsense,{\"b\":2}]", ["nonsense", "{\"b\":2}"], [nil, nil]),
    ])
    func `delivers damaged elements and goes on`(_ example: Case) {
        let (records, error) = read(example.text)
        #expect(error == nil)
        #expect(records.map(\.text) == example.elements)
        #expect(records.map(\.fault) == example.faults)
        #expect(records.map(\.number) == Array(1...example.elements.count))
    }

    @Test(arguments: ["[1,{\"a\":[2", "[1,\"abc", "[1,{\"a\":\"b\\", "[1,tru"])
    func `delivers the element that the file ends in`(text: String) {
        let (records, error) = read(text)
        #expect(error == nil)
        #expect(records.map(\.text) == ["1", String(text.dropFirst(3))])
    }

    @Test(arguments: ["[1,2,", "[1,2\n", "[1,2 ,\n "]) func `throws after the elements of an unclosed array`(
        text: String
    ) {
        let (records, error) = read(text)
        // "2" may go on in what was lost, unless white space or a comma ends it.
        #expect(records.map(\.text) == ["1", "2"])
        #expect(error?.kind == .unclosedArray && error?.recordNumber == 2)
    }

    @Test func `survives ten thousand levels`() {
        let open = String(repeating: "[{\"a\":", count: 10_000)
        let close = String(repeating: "}]", count: 10_000)
        let (records, error) = read("[\(open)1\(close),{\"b\":2},\(open)")
        #expect(error == nil)
        #expect(records.map(\.totalBytes) == [80_001, 7, 60_000])
    }

    @Test func `marks oversized elements and goes on`() {
        let folder = TestFolder()
        let long = "{\"a\":\"\(String(repeating: "x\\\"", count: 400))\"}"
        let path = folder.write("a.json", "[{\"b\":1},\(long),{\"c\":2}]")
        for bufferBytes in [1, 50, 102, 4096] {
            let records = readAll(path, maximumRecordBytes: 100, bufferBytes: bufferBytes).records
            #expect(records.map(\.isOversize) == [false, true, false])
            #expect(records.map(\.totalBytes) == [7, long.utf8.count, 7])
            #expect(records[1].text == String(long.prefix(100)))
        }
    }
}
