import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Rows of CSV files whose routes ask for more than columns, and files of other dialects.
@Suite struct RouteRowsTests {
    private func outcomes(_ text: String, _ change: (inout FileConfiguration) -> Void) throws -> [String] {
        let folder = TestFolder()
        let path = folder.write("rows.csv", text)
        var configuration = WorkerConfiguration()
        var file = FileConfiguration(match: "*.csv", format: .json, routes: [RouteConfiguration(entity: "WorkOrder")])
        change(&file)
        configuration.files = [file]
        let model = try TestModels.kinds()
        let sample = RecordSample(configuration: configuration, model: model)
        var lines: [String] = []
        let counts = try sample.read(path: path, topic: nil) { place, outcome in
            lines.append(sample.text(place, outcome))
        }
        #expect(counts.events + counts.filtered + counts.deadLetters == lines.count)
        return lines
    }

    @Test func `a row may have a template, a condition and a split of routes`() throws {
        let lines = try outcomes("site,no,Title,state\nB,1,T,open\nB,2,,closed\n") {
            $0.routes[0].identity = .field("{site}-{no}")
            $0.routes[0].aliases = ["Title": "name"]
            $0.routes[0].filter = "state = 'open'"
            $0.routes[0].ignore = ["state"]
        }
        #expect(lines == ["line 2  upsert  WorkOrder B-1  name=\"T\"", "line 3  filtered by route 1"])
    }

    @Test func `semicolons and other settings are recognised`() throws {
        let expected = ["line 2  upsert  WorkOrder w1  name=\"a,b\"  small=7"]
        #expect(try outcomes("id;name;small\nw1;a,b;7\n") { _ in } == expected)
        #expect(try outcomes("id|name|small\nw1|a,b|7\n") { $0.delimiter = .pipe } == expected)
        #expect(try outcomes("id,name,small\nw1,'a,b',7\n") { $0.quote = .single } == expected)
        #expect(
            try outcomes("id,name\nw1,'it''s'\n") { $0.quote = .single } == [
                "line 2  upsert  WorkOrder w1  name=\"it's\""
            ])
        #expect(
            try outcomes("id,name\nw1,\"a\n") { $0.quote = .none } == ["line 2  upsert  WorkOrder w1  name=\"\\\"a\""])
    }

    @Test func `texts stand for null in rows too`() throws {
        #expect(
            try outcomes("id,name,small,owner\nw1,NA,NA,NA\nw2,,,\n") { $0.nullValues = ["NA", ""] } == [
                "line 2  upsert  WorkOrder w1  name=null  small=null  owner=null",
                "line 3  upsert  WorkOrder w2  name=null  small=null  owner=null",
            ])
    }

    @Test func `dates of rows have the form of the route`() throws {
        let lines = try outcomes("id,happenedAt\nw1,02.01.2026 04:04\nw2,2026\n") {
            ($0.routes[0].datePattern, $0.routes[0].zone) = ("dd.MM.yyyy HH:mm", "Europe/Berlin")
        }
        #expect(lines[0] == "line 2  upsert  WorkOrder w1  happenedAt=\"2026-01-02T03:04:00Z\"")
        #expect(lines[1].contains("a date of the form dd.MM.yyyy HH:mm"))
    }
}
