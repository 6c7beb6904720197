import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Debezium's mark of a value that did not change, in the form of each type of column.
@Suite struct UnavailableMarkTests {
    private static let mark = "__debezium_unavailable_value"

    private func decoder(
        _ format: EventFormat = .debezium, _ change: (inout RouteConfiguration) -> Void = { _ in }
    ) throws -> TestDecoder {
        var route = RouteConfiguration(entity: "WorkOrder")
        change(&route)
        return try TestDecoder(TestModels.kinds(), format: format, routes: [route])
    }

    @Test(arguments: [
        #""\#(mark)""#, #""X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==""#, #"["\#(mark)"]"#,
        #"["X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="]"#, #"["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]"#,
        #"{"\#(mark)":"\#(mark)"}"#, #""{\"\#(mark)\":\"\#(mark)\"}""#, "\(mark.utf8.map { Int($0) })",
    ])
    func `a mark in the form of its column leaves the property alone`(value: String) throws {
        let row = "{\"id\":\"w1\",\"small\":1,\"extra\":\(value)}"
        #expect(
            try decoder().shown(DebeziumRecords.change("u", after: row)) == [
                "upsert WorkOrder w1 version=2026-01-02T03:04:05.123456Z small=1"
            ])
        // The transform ExtractNewRecordState leaves the marks in the row.
        #expect(try decoder(.connect).shown(row) == ["upsert WorkOrder w1 small=1"])
        #expect(try decoder(.json).shown(row).first?.contains("extra=") == true)
    }

    @Test(arguments: [
        "[]", #"["\#(mark)","x"]"#, "[95]", "\(mark.utf8.map { _ in 95 })", #"{"\#(mark)":1,"a":2}"#,
    ])
    func `a value that only resembles a mark is one`(value: String) throws {
        let shown = try decoder(.connect).shown("{\"id\":\"w1\",\"extra\":\(value)}")
        #expect(shown == ["upsert WorkOrder w1 extra=\(value.filter { $0 != " " })"])
    }

    @Test func `an expression that meets a mark is absent`() throws {
        let decoder = try decoder {
            $0.fields = ["name": "after.note", "place": "{after.note}/{after.id}", "extra": "$record.after.note"]
            $0.add = ["parts": "after.tags"]
            ($0.defaults, $0.ignore) = (["medium": .integer(1)], ["*"])
            var split = SplitConfiguration(field: "lines", entity: "Part", parent: "order")
            split.identity = .field("$value")
            $0.splits = [split]
        }
        let row = #"{"id":"w1","note":"\#(Self.mark)","tags":["\#(Self.mark)"],"lines":["\#(Self.mark)"]}"#
        #expect(
            try decoder.shown(DebeziumRecords.change("u", after: row)) == [
                "upsert WorkOrder w1 version=2026-01-02T03:04:05.123456Z medium=1"
            ])
    }
}
