import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// The envelopes of Maxwell, Canal and AWS DMS around changes of rows.
@Suite struct RowChangeFormatTests {
    private func decoder(_ format: EventFormat, _ routes: [RouteConfiguration] = []) throws -> TestDecoder {
        try TestDecoder(TestModels.kinds(), format: format, routes: routes)
    }

    private func maxwell(
        _ type: String, _ data: String = "{\"id\":17,\"is_open\":1,\"happened_at\":\"2026-01-02 03:04:05\"}"
    ) -> String {
        "{\"database\":\"shop\",\"table\":\"work_orders\",\"type\":\"\(type)\",\"ts\":1767323045,\"xid\":5,\"commit\":true,"
            + "\"data\":\(data),\"old\":{\"is_open\":0}}"
    }

    @Test(arguments: ["insert", "update", "bootstrap-insert"])
    func `Maxwell's rows are upserted`(type: String) throws {
        #expect(
            try decoder(.maxwell).shown(maxwell(type)) == [
                "upsert WorkOrder 17 version=2026-01-02T03:04:05Z isOpen=true happenedAt=2026-01-02T03:04:05Z"
            ])
    }

    @Test func `Maxwell's deletions delete and its other events are passed over`() throws {
        let decoder = try decoder(.maxwell)
        #expect(try decoder.shown(maxwell("delete")) == ["delete WorkOrder 17 version=2026-01-02T03:04:05Z"])
        for type in ["bootstrap-start", "table-alter"] {
            #expect(try decoder.shown(maxwell(type)).isEmpty)
            #expect(decoder.decoder.skipReason == .control)
        }
        #expect(decoder.failure(maxwell("rename"))?.code == "decode.operation")
        #expect(decoder.failure(maxwell("insert", "[]"))?.code == "decode.envelope")
        #expect(decoder.failure("{}")?.code == "decode.envelope")
    }

    @Test func `a column that Maxwell leaves out of a row is null where old names it`() throws {
        let update = maxwell("update", "{\"id\":17,\"name\":\"N\"}").replacing(
            "\"old\":{\"is_open\":0}", with: "\"old\":{\"is_open\":0,\"small\":3,\"name\":\"M\"}")
        let time = "version=2026-01-02T03:04:05Z"
        #expect(
            try decoder(.maxwell).shown(update) == ["upsert WorkOrder 17 \(time) isOpen=null small=null name=N"])
        var route = RouteConfiguration(entity: "WorkOrder")
        (route.fields, route.condition, route.ignore) = (["price": "data.small"], "is_open = nil", ["*"])
        #expect(
            try decoder(.maxwell, [route]).shown(update) == [
                "upsert WorkOrder 17 \(time) isOpen=null small=null name=N price=null"
            ])
        let key = maxwell("update", "{}").replacing("\"old\":{\"is_open\":0}", with: "\"old\":{\"id\":17}")
        #expect(try decoder(.maxwell).failure(key)?.code.hasPrefix("decode.") == true)
        // Without the name in old, the column is one that the event says nothing of.
        #expect(try decoder(.maxwell).shown(maxwell("insert", "{\"id\":17,\"is_open\":1}")).count == 1)
    }

    @Test func `a route takes a table behind its database`() throws {
        var route = RouteConfiguration(entity: "Part")
        (route.table, route.identity, route.ignore) = ("shop.work_orders", .field("id"), ["*"])
        #expect(try decoder(.maxwell, [route]).shown(maxwell("insert")) == ["upsert Part 17"])
    }

    @Test func `an update of the primary key deletes the object of the old one`() throws {
        let row = "{\"id\":18,\"is_open\":1}"
        let update = maxwell("update", row).replacing("\"old\":{\"is_open\":0}", with: "\"old\":{\"id\":17}")
        let time = "version=2026-01-02T03:04:05Z"
        #expect(
            try decoder(.maxwell).shown(update) == [
                "delete WorkOrder 17 \(time)", "upsert WorkOrder 18 \(time) isOpen=true",
            ])
        var route = RouteConfiguration(entity: "WorkOrder")
        (route.table, route.identity) = ("work_orders", .field("{is_open}/{id}"))
        #expect(
            try decoder(.maxwell, [route]).shown(update) == [
                "delete WorkOrder 1/17 \(time)", "upsert WorkOrder 1/18 \(time) isOpen=true",
            ])
        let rows = canal("UPDATE", "[{\"id\":\"1\"},{\"id\":\"3\"}]")
            .replacing("\"old\":null", with: "\"old\":[{\"name\":\"A\"},{\"id\":\"2\"}]")
        #expect(
            try decoder(.canal).shown(rows) == [
                "upsert WorkOrder 1 \(time)", "delete WorkOrder 2 \(time)", "upsert WorkOrder 3 \(time)",
            ])
    }

    private func canal(_ type: String, _ data: String, isDDL: Bool = false) -> String {
        "{\"data\":\(data),\"database\":\"shop\",\"es\":1767323045000,\"id\":3,\"isDdl\":\(isDDL),\"old\":null,"
            + "\"pkNames\":[\"id\"],\"sql\":\"\",\"table\":\"work_orders\",\"ts\":1767323046000,\"type\":\"\(type)\"}"
    }

    @Test func `Canal's rows of texts become objects, each row one`() throws {
        let decoder = try decoder(.canal)
        #expect(
            try decoder.shown(
                canal(
                    "INSERT",
                    "[{\"id\":\"1\",\"small\":\"7\",\"is_open\":\"0\",\"price\":\"1.50\"},{\"id\":\"2\",\"name\":null}]"
                )) == [
                    "upsert WorkOrder 1 version=2026-01-02T03:04:05Z small=7 isOpen=false price=1.5",
                    "upsert WorkOrder 2 version=2026-01-02T03:04:05Z name=null",
                ])
        #expect(
            try decoder.shown(canal("DELETE", "[{\"id\":\"1\"}]")) == [
                "delete WorkOrder 1 version=2026-01-02T03:04:05Z"
            ])
        #expect(try decoder.shown(canal("ALTER", "null", isDDL: true)).isEmpty)
        #expect(decoder.decoder.skipReason == .control)
        #expect(try decoder.event(TestRecord(canal("TRUNCATE", "null", isDDL: true))).operations[0].kind == .truncate)
        #expect(decoder.failure(canal("INSERT", "null"))?.code == "decode.envelope")
        #expect(decoder.failure(canal("INSERT", "[1]"))?.code == "decode.envelope")
        #expect(decoder.failure(canal("MERGE", "[]"))?.code == "decode.operation")
    }

    @Test func `each row of Canal's message is an event of its own`() throws {
        let rows = "[{\"id\":\"1\"},{\"id\":\"2\"}]"
        let event = try decoder(.canal).event(TestRecord(canal("INSERT", rows)))
        #expect(event.operations.count == 2 && event.eventEnds == [1, 2])
        // The deletion of an object whose key changed belongs to the row that has the new one.
        let keys = canal("UPDATE", rows).replacing("\"old\":null", with: "\"old\":[{\"name\":\"A\"},{\"id\":\"0\"}]")
        #expect(try decoder(.canal).event(TestRecord(keys)).eventEnds == [1, 3])
        let wrong = try #require(try decoder(.canal).failure(canal("INSERT", "[{\"id\":\"1\"},{}]")))
        #expect(wrong.code == "decode.missing_identity" && wrong.message.hasPrefix("Row 2 of the message: "))
    }

    @Test func `a route drops the rows of Canal's message that it takes`() throws {
        var drop = RouteConfiguration(entity: "")
        (drop.condition, drop.verb) = ("id = '1'", .drop)
        let decoder = try decoder(.canal, [drop])
        #expect(try decoder.shown(canal("INSERT", "[{\"id\":\"1\"},{\"id\":\"2\"}]")).count == 1)
        #expect(decoder.decoder.skipReason == nil)
        #expect(try decoder.shown(canal("INSERT", "[{\"id\":\"1\"}]")).isEmpty)
        #expect(decoder.decoder.skipReason == .drop)
    }

    @Test func `a route drops operations that the format does not know`() throws {
        var drop = RouteConfiguration(entity: "")
        (drop.table, drop.verb) = ("work_orders", .drop)
        let source = DebeziumRecords.source(table: "work_orders")
        let records: [(EventFormat, String)] = [
            (.maxwell, maxwell("rename")), (.canal, canal("MERGE", "[]")), (.dms, dms("merge")),
            (.debezium, DebeziumRecords.change("x", source: source)),
        ]
        for (format, record) in records {
            let decoder = try decoder(format, [drop])
            #expect(try decoder.shown(record).isEmpty, "\(format.rawValue)")
            #expect(decoder.decoder.skipReason == .drop)
            #expect(try self.decoder(format).failure(record)?.code == "decode.operation")
        }
    }

    private func dms(_ operation: String, _ kind: String = "data", _ data: String = "{\"id\":\"w1\",\"small\":7}")
        -> String
    {
        "{\"data\":\(data),\"metadata\":{\"timestamp\":\"2026-01-02T03:04:06.000000Z\",\"record-type\":\"\(kind)\","
            + "\"operation\":\"\(operation)\",\"partition-key-type\":\"primary-key\",\"schema-name\":\"shop\","
            + "\"table-name\":\"work_orders\",\"commit-timestamp\":\"2026-01-02T03:04:05.000000Z\"}}"
    }

    @Test func `rows of AWS DMS are upserted and deleted, and its control records passed over`() throws {
        let decoder = try decoder(.dms)
        for operation in ["load", "insert", "update"] {
            #expect(
                try decoder.shown(dms(operation)) == ["upsert WorkOrder w1 version=2026-01-02T03:04:05Z small=7"])
        }
        #expect(try decoder.shown(dms("delete")) == ["delete WorkOrder w1 version=2026-01-02T03:04:05Z"])
        #expect(try decoder.shown(dms("create-table", "control", "null")).isEmpty)
        #expect(decoder.decoder.skipReason == .control)
        #expect(decoder.failure(dms("merge"))?.code == "decode.operation")
        #expect(decoder.failure(dms("insert", "data", "null"))?.code == "decode.envelope")
        #expect(decoder.failure("{\"data\":{}}")?.code == "decode.envelope")
    }

    @Test func `further objects of a row are read as the row is`() throws {
        var (part, further) = (RouteConfiguration(entity: "Part"), RouteConfiguration(entity: "WorkOrder"))
        (part.table, part.identity, part.ignore) = ("work_orders", .field("id"), ["*"])
        further.ignore = ["*"]
        part.also = [further]
        let rows = canal("INSERT", "[{\"id\":\"1\",\"small\":\"7\",\"is_open\":\"1\"}]")
        let time = "version=2026-01-02T03:04:05Z"
        #expect(
            try decoder(.canal, [part]).shown(rows) == [
                "upsert WorkOrder 1 \(time) small=7 isOpen=true", "upsert Part 1",
            ])
    }

    // MARK: CloudEvents

    @Test(arguments: ["application/json", "application/vnd.shop+json; charset=utf-8", "application/octet-stream"])
    func `binary mode takes JSON by whatever name`(contentType: String) throws {
        let decoder = try decoder(.cloudevents)
        let record = TestRecord(
            "{\"number\":1}", headers: ["ce_type": "part.created", "content-type": contentType])
        #expect(try decoder.shown(record) == ["upsert Part 1"])
    }

    @Test func `a content type says what the data is`() throws {
        let decoder = try decoder(.cloudevents)
        let whole = TestRecord(
            "{\"type\":\"part.created\",\"data\":{\"number\":1}}",
            headers: ["ce_type": "x", "content-type": "application/cloudevents+json; charset=UTF-8"])
        #expect(try decoder.shown(whole) == ["upsert Part 1"])
        let batch = TestRecord("[]", headers: ["content-type": "application/cloudevents-batch+json"])
        #expect(decoder.failure(batch)?.code == "decode.content_type")
        let xml = TestRecord("<a/>", headers: ["ce_type": "part.created", "content-type": "text/xml"])
        let failure = try #require(decoder.failure(xml))
        #expect(failure.code == "decode.content_type" && failure.description.contains("'text/xml'"))
        let broken = TestRecord("{", headers: ["ce_type": "part.created", "content-type": "application/json"])
        #expect(decoder.failure(broken)?.code == "json.truncated")
    }
}
