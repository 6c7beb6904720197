import Foundation
import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordFiles

@Suite struct CSVTests {
    private func read(
        _ text: String, name: String = "a.csv", delimiter: CSVDelimiter? = nil
    ) -> (records: [SeenRecord], error: RecordFileError?, columns: [String]) {
        let folder = TestFolder()
        let result = readAll(folder.write(name, text), delimiter: delimiter)
        return (result.records, result.error, result.reader?.columns ?? [])
    }

    @Test func `reads rows and fields`() {
        let text =
            "\u{FEFF}id,\"the \"\"name\"\"\",note\r\n1,plain,\"a, b\"\r\n\r\n2,\"two\r\nlines\",\"say \"\"hi\"\"\"\n3,,\"\"\n"
        let (records, error, columns) = read(text)
        #expect(error == nil)
        #expect(columns == ["id", "the \"name\"", "note"])
        #expect(
            records.map(\.fields) == [
                ["1", "plain", "a, b"], ["2", "two\r\nlines", "say \"hi\""], ["3", nil, ""],
            ])
        #expect(records.map(\.line) == [2, 4, 6])
        #expect(records.map(\.number) == [1, 2, 3])
        #expect(records[0].text == "1,plain,\"a, b\"")
        #expect(records[0].byteOffset == 27)
        #expect(records.allSatisfy { $0.fault == nil })
    }

    @Test(arguments: [("a;b\n1,5;\"x;y\"\n", CSVDelimiter.semicolon), ("a\tb\n1,5\t\"x;y\"\n", .tab)])
    func `takes other delimiters`(text: String, delimiter: CSVDelimiter) {
        #expect(read(text, delimiter: delimiter).records.map(\.fields) == [["1,5", "x;y"]])
    }

    @Test func `tab is usual for TSV`() {
        #expect(read("a\tb\n1\t2\n", name: "a.tsv").records.map(\.fields) == [["1", "2"]])
    }

    @Test(arguments: [
        "sep=;\nid;name\n1;Ada, B\n2;Ben\n", "\u{FEFF}SEP=;\r\nid;name\r\n1;Ada, B\r\n2;Ben\r\n",
        "\"sep=;\"\r\nid;name\r\n1;Ada, B\r\n2;Ben", "sep=;\rid;name\r1;Ada, B\r2;Ben\r",
    ])
    func `a first line states the delimiter, and is no record`(text: String) {
        let (records, error, columns) = read(text)
        #expect(error == nil && columns == ["id", "name"])
        #expect(records.map(\.fields) == [["1", "Ada, B"], ["2", "Ben"]])
        #expect(records.map(\.line) == [3, 4])
    }

    @Test func `a line that only begins as such a statement is a header`() {
        #expect(read("sep=;;\n1;2;3\n").columns == ["sep=", "column2", "column3"])
        #expect(read("sep,a\n1,2\n").columns == ["sep", "a"])
        #expect(read("sep=#\na#b\n").error?.code == "file.header")
    }

    @Test(arguments: [
        "id,name\r1,Ada\r2,Ben", "id,name\r1,Ada\r2,Ben\r", "id,name\r\r1,\"Ada\"\r2,Ben\r",
        "id,name\r\n1,Ada\r\n2,Ben\r\n", "id,name\n1,Ada\n2,Ben\n",
    ])
    func `lines end in three ways`(text: String) {
        let (records, error, columns) = read(text)
        #expect(error == nil && columns == ["id", "name"])
        #expect(records.map(\.fields) == [["1", "Ada"], ["2", "Ben"]])
    }

    @Test func `a carriage return in quotes ends no line, and several ends in one header are refused`() {
        let (records, _, columns) = read("id,\"a\rb\"\n1,\"c\rd\"\n")
        #expect(columns == ["id", "a\rb"] && records.map(\.fields) == [["1", "c\rd"]])
        let mixed = read("id,name\r1,Ada\n2,Ben\n").error
        #expect(mixed?.code == "file.header" && mixed?.description.contains("the lines end in several ways") == true)
    }

    @Test func `the reader counts fields`() {
        let (records, error, _) = read("a,b,c\n1,2\n1,2,3,4\n1,2,3\n,,\n1,2,\n\"\"\n")
        #expect(error == nil)
        #expect(
            records.map(\.fault) == [
                .fieldCount(expected: 3, found: 2), .fieldCount(expected: 3, found: 4), nil, nil, nil,
                .fieldCount(expected: 3, found: 1),
            ])
        #expect(
            records.map(\.fields) == [
                ["1", "2"], ["1", "2", "3"], ["1", "2", "3"], [nil, nil, nil], ["1", "2", nil], [""],
            ])
    }

    @Test(
        arguments: [
            ("1,2", ["1", "2"]), ("1,", ["1", nil]), ("1,\"2\"", ["1", "2"]), ("1,\"2\"\r", ["1", "2"]),
            ("1,2\r", ["1", "2"]),
            ("1,\"\"", ["1", ""]), (",", [nil, nil]),
        ] as [(String, [String?])])
    func `reads a last row without an end`(row: String, fields: [String?]) {
        let (records, error, _) = read("a,b\n" + row)
        #expect(error == nil)
        #expect(records.map(\.fields) == [fields])
        #expect(records.allSatisfy { $0.fault == nil })
    }

    @Test func `refuses the row whose quote is never closed`() {
        let records = read("a,b\n1,2\n3,\"open\nmore").records
        #expect(records.map(\.fault) == [nil, .unclosedQuote])
        #expect(records[1].line == 3 && records[1].fault?.code == "record.quote")
        #expect(records[1].fields == ["3", "open\nmore"])
    }

    @Test func `tolerates and marks stray quotes`() {
        let records = read("a,b\n1 \"x\",y\"\n\"p\"q,2\n\"r\"\"s\"t,\"u\"\n5,6\n").records
        #expect(records.map(\.fault) == [nil, .textAfterQuote, .textAfterQuote, nil])
        #expect(records[0].fields == ["1 \"x\"", "y\""])
        #expect(records[3].fields == ["5", "6"])
    }

    @Test func `tells fields that are not UTF 8`() throws {
        let folder = TestFolder()
        let reader = try RecordFileReader(path: folder.write("a.csv", Array("a,b\n".utf8) + [0x78, 0xFF, 0x2C, 0x79]))
        let delivered = try reader.next { record in
            #expect(record.fields[0].string == nil)
            #expect(record.fields[1].string == "y")
            #expect(record.fields[0].utf8.count == 2)
        }
        #expect(delivered)
    }

    @Test(arguments: [
        ("a,b,a\n1,2,3\n", "columns 1 and 3 have the same name"), ("a,\"b\n", "a quoted name is not closed"),
        ("\"a\"x,b\n", "text follows a closing quote"),
        (String(repeating: ",", count: 20_000) + "\n", "it has too many columns"),
    ])
    func `refuses a header`(text: String, detail: String) {
        let (_, error, _) = read(text)
        #expect(error?.kind == .header && error?.detail == detail && error?.line == 1)
    }

    @Test func `has no columns in an empty file`() {
        let (records, error, columns) = read("")
        #expect(records.isEmpty && error == nil && columns.isEmpty)
        #expect(read("a,,\n").columns == ["a", "column2", "column3"])
    }

    @Test func `marks oversized rows and goes on`() {
        let folder = TestFolder()
        let long = String(repeating: "x,\n", count: 300)
        let path = folder.write("a.csv", "a,b\n1,\"\(long)\"\n2,3\n")
        for bufferBytes in [1, 50, 102, 4096] {
            let records = readAll(path, maximumRecordBytes: 100, bufferBytes: bufferBytes).records
            #expect(records.map(\.isOversize) == [true, false])
            #expect(records.map(\.totalBytes) == [904, 3])
            #expect(records.map(\.fields) == [[], ["2", "3"]])
            #expect(records.map(\.line) == [2, 303])
        }
    }

    /// The path of real work orders where the workspace has them, else of generated ones.
    private func workOrders(_ folder: TestFolder) -> String {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let real = root.deletingLastPathComponent().appendingPathComponent("shared/data/work-orders.csv").path
        if FileManager.default.fileExists(atPath: real) { return real }
        var text = "BscStartDate,Asset,OriginalShorttext,PMType,Cost\n"
        for row in 0..<5485 {
            let date = Timestamp.text(Int64(row % 3000) * 86_400_000_000).prefix(10)
            text +=
                "\(date),\(["A", "B", ""][row % 3]),\(row % 7 == 0 ? "\"loose line, left\"" : "REPLACE TOOTH"),PM01,\(row).25\n"
        }
        return folder.write("work-orders.csv", text)
    }

    @Test func `reads work orders`() throws {
        let folder = TestFolder()
        let reader = try RecordFileReader(path: workOrders(folder))
        #expect(reader.columns == ["BscStartDate", "Asset", "OriginalShorttext", "PMType", "Cost"])
        var rows = 0
        var badDates = 0
        var badCosts = 0
        while try reader.next({ record in
            rows += 1
            #expect(record.fields.count == 5 && record.fault == nil)
            if Timestamp.microseconds(utf8: record.fields[0].utf8) == nil { badDates += 1 }
            if let cost = record.fields[4].string, !cost.isEmpty, Double(cost) == nil { badCosts += 1 }
        }) {}
        #expect(rows == 5485 && reader.recordNumber == 5485)
        // One of the real rows has a type in its cost column.
        #expect(badDates == 0 && badCosts <= 1)
        #expect(reader.bytesRead == reader.totalBytes)
    }
}
