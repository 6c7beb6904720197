import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding
@testable import RecordFiles

@Suite struct RowDecoderTests {
    /// Decodes the rows of a CSV text: each one's operations or the code of its failure.
    private func rows(_ text: String, _ change: (inout RouteConfiguration) -> Void = { _ in }) throws -> [[String]] {
        try rows(text, routes: [route(change: change)])
    }

    private func rows(
        _ text: String, routes: [RouteConfiguration], nullValues: [String] = []
    ) throws -> [[String]] {
        let folder = TestFolder()
        let path = folder.write("rows.csv", text)
        let (decoder, rows, reader) = try open(path, routes, nullValues: nullValues)
        var shown: [[String]] = []
        while try reader.next({ record in
            do throws(DecodeError) {
                shown.append(decoder.model.shown(try rows.decode(record, source(record))))
            } catch {
                shown.append([error.code, error.description])
            }
        }) {}
        return shown
    }

    private func source(_ record: FileRecord) -> SourceRecord {
        var source = SourceRecord(
            place: RecordPlace(
                topic: "file:/data/rows.csv", partition: 0, offset: Int64(record.number), line: record.line),
            key: nil, value: record.value)
        source.fault = record.fault.map { DecodeError(code: $0.code, $0.description) }
        return source
    }

    private func route(
        _ entity: String = "WorkOrder", change: (inout RouteConfiguration) -> Void = { _ in }
    ) -> RouteConfiguration {
        var route = RouteConfiguration(entity: entity)
        change(&route)
        return route
    }

    private func open(
        _ path: String, _ routes: [RouteConfiguration], nullValues: [String] = []
    ) throws -> (decoder: TestDecoder, rows: RowDecoder, reader: RecordFileReader) {
        let decoder = try TestDecoder(TestModels.kinds(), format: .json, routes: routes, nullValues: nullValues)
        let reader = try RecordFileReader(path: path, format: .csv)
        return (decoder, try decoder.decoder.rowDecoder(columns: reader.columns, path: path), reader)
    }

    @Test func `an empty field is absent and a quoted one empty`() throws {
        #expect(
            try rows("id,name,price,owner\nw1,,,\nw2,\"\",\"\",\"\"\n") == [
                ["upsert WorkOrder w1"], ["upsert WorkOrder w2 name= price=null owner=null"],
            ])
    }

    @Test func `fields have the types of their properties`() throws {
        #expect(
            try rows(
                """
                id,small,ratio,price,isOpen,happenedAt,token,picture,extra,updatedAt
                w1,7,1.5,12.50,yes,2004-07-01,000102030405060708090A0B0C0D0E0F,AAEC,{},2026-01-01
                """) == [
                    [
                        "upsert WorkOrder w1 version=2026-01-01T00:00:00Z small=7 ratio=1.5 price=12.5 isOpen=true "
                            + "happenedAt=2004-07-01T00:00:00Z token=00010203-0405-0607-0809-0a0b0c0d0e0f picture=AAEC extra={} "
                            + "updatedAt=2026-01-01T00:00:00Z"
                    ]
                ])
    }

    @Test func `the row's number may identify`() throws {
        let found = try rows("name\na\nb\n") { ($0.identity, $0.identityPrefix) = (.row, "WO-") }
        #expect(found == [["upsert WorkOrder WO-1 name=a"], ["upsert WorkOrder WO-2 name=b"]])
    }

    @Test func `a column may identify`() throws {
        let foreign = try rows("Number,name\n17,a\n,b\n") {
            ($0.identity, $0.identityPrefix) = (.field("Number"), "WO-")
        }
        #expect(foreign.map { $0[0] } == ["upsert WorkOrder WO-17 name=a", "decode.missing_identity"])
        let own = try rows("id,name\n17,a\n") { ($0.identity, $0.identityPrefix) = (.field("id"), "WO-") }
        #expect(own == [["upsert WorkOrder WO-17 name=a"]])
        let alias = try rows("No,name\n17,a\n") { $0.aliases = ["No": "id"] }
        #expect(alias == [["upsert WorkOrder 17 name=a"]])
    }

    @Test func `constants aliases and the verb count`() throws {
        let found = try rows("No,Title,Clerk\nw1,T,X\n") {
            ($0.aliases, $0.ignore) = (["No": "id", "Title": "name"], ["Clerk"])
            $0.constants = ["small": .integer(3)]
        }
        #expect(found == [["upsert WorkOrder w1 name=T small=3"]])
        let deleted = try rows("id\nw1\n") { $0.verb = .delete }
        #expect(deleted == [["delete WorkOrder w1"]])
    }

    @Test func `dates come in the route's unit`() throws {
        let found = try rows("id,happenedAt\nw1,1000\nw2,2026-01-01\nw3,9223372036854775807\n") {
            $0.dates = .milliseconds
        }
        #expect(
            found.map { $0[0] } == [
                "upsert WorkOrder w1 happenedAt=1970-01-01T00:00:01Z", "decode.type", "decode.type",
            ])
        #expect(
            found[1][1]
                == "WorkOrder.happenedAt has to be a number of milliseconds since 1970, not this text: '2026-01-01'")
    }

    @Test(arguments: [
        ("id,small\nw1,S3CRET\n", "decode.type", "WorkOrder.small"),
        ("id,price\nw1,S3CRET\n", "decode.type", "WorkOrder.price"),
        ("id,owner\nw1,S3CRET\n", "decode.identity", "owner names a Owner"),
        ("id,name\n,S3CRET\n", "decode.missing_identity", "$row"),
        ("id,name\nw1,S3CRET\u{0}\n", "decode.type", "WorkOrder.name"),
    ])
    func `says which field is wrong`(text: String, code: String, part: String) throws {
        let found = try #require(try rows(text).first)
        #expect(found[0] == code)
        #expect(found[1].contains(part), "\(found[1])")
        #expect(found[1].contains("S3CRET") == (code != "decode.missing_identity"), "\(found[1])")
    }

    @Test func `a field that is no UTF-8 names its column`() throws {
        let folder = TestFolder()
        let path = folder.write("rows.csv", Array("id,name\nw1,".utf8) + [0xFF, 0x0A])
        let (_, rows, reader) = try open(path, [route()])
        _ = try reader.next { record in
            let error = caught(DecodeError.self) { try rows.decode(record, source(record)) }
            #expect(error?.code == "json.utf8" && error?.message.contains("'name'") == true)
        }
    }

    // MARK: Several routes

    @Test func `a route that drops rows says nothing of their types`() throws {
        let drop = route("") { ($0.condition, $0.verb) = ("number > 5", .drop) }
        let found = try rows("number,label\n7,a\n5,007\n", routes: [drop, route("Part")])
        #expect(found == [[], ["upsert Part 5 label=007"]])
    }

    @Test func `a program gets the object of the columns as texts`() throws {
        let program = route("") { $0.program = RouteProgram("{type: \"workOrder.upserted\", data: .}") }
        #expect(try rows("id,name,notes\n007,2,\n", routes: [program]) == [["upsert WorkOrder 007 name=2"]])
        let folder = TestFolder()
        let path = folder.write("rows.csv", "id,small\n007,5\n")
        let (_, rows, reader) = try open(path, [program])
        _ = try reader.next { record in
            let json = String(decoding: try rows.json(record), as: UTF8.self)
            #expect(json == #"{"id":"007","small":"5"}"#)
        }
    }

    @Test func `routes of several entities read a column as each needs it`() throws {
        let parts = route("Part") {
            ($0.condition, $0.aliases) = ("kind = 'part'", ["id": "number", "size": "label"])
            $0.ignore = ["kind"]
        }
        let orders = route { ($0.aliases, $0.ignore) = (["size": "small"], ["kind"]) }
        #expect(
            try rows("kind,id,size\npart,3,007\norder,004,007\norder,w5,\"\"\n", routes: [parts, orders]) == [
                ["upsert Part 3 label=007"], ["upsert WorkOrder 004 small=7"], ["upsert WorkOrder w5 small=null"],
            ])
        #expect(try rows("kind,id,nme\norder,w1,x\n", routes: [parts, orders])[0][0] == "decode.unknown_property")
    }

    @Test func `a row goes to the route of its type, topic and headers`() throws {
        var deletion = route { ($0.type, $0.typeField, $0.verb) = ("gone", "state", .delete) }
        let rest = route { $0.ignore = ["state"] }
        let text = "id,state,name\nw1,gone,a\nw2,new,b\n"
        let expected = [["delete WorkOrder w1"], ["upsert WorkOrder w2 name=b"]]
        #expect(try rows(text, routes: [deletion, rest]) == expected)
        #expect(
            try rows("id,kind\nw1,workOrder.deleted\n") { $0.typeField = "kind" } == [["delete WorkOrder w1"]])
        deletion.type = nil
        for change in [{ $0.topic = "orders" }, { $0.headers = ["a": "b"] }] as [(inout RouteConfiguration) -> Void] {
            var other = deletion
            change(&other)
            #expect(try rows(text, routes: [other, rest]).map { $0[0].prefix(6) } == ["upsert", "upsert"])
        }
    }

    @Test func `a column that identifies is a property too`() throws {
        #expect(try rows("name\na\n") { $0.identity = .field("name") } == [["upsert WorkOrder a name=a"]])
    }

    @Test func `a number may stand for null`() throws {
        let filtered = route { $0.condition = "name = 'a'" }
        #expect(
            try rows("id,name,small\nw1,a,-1\n", routes: [filtered], nullValues: ["-1"]) == [
                ["upsert WorkOrder w1 name=a small=null"]
            ])
    }

    // MARK: Columns

    @Test(arguments: [
        ("id,nme\n", "'nme' of rows is no property of WorkOrder. Did you mean 'name'?"),
        ("id,parts\n", "'parts' of rows stands for WorkOrder.parts, which leads to many"),
    ])
    func `says which column is wrong`(header: String, part: String) throws {
        let decoder = try TestDecoder(
            TestModels.kinds(), format: .json, routes: [RouteConfiguration(entity: "WorkOrder")])
        let columns = header.dropLast().split(separator: ",").map { String($0) }
        let error = try #require(
            caught(RouteError.self) { try decoder.decoder.rowDecoder(columns: columns, path: "rows") })
        #expect(error.description.contains(part), "\(error)")
    }

    @Test func `rows need a route`() throws {
        let decoder = try TestDecoder(TestModels.kinds())
        let error = try #require(
            caught(RouteError.self) { try decoder.decoder.rowDecoder(columns: ["id"], path: "rows.csv") })
        #expect(error.description.contains("rows.csv") && error.description.contains("'files'"))
    }

    /// What `replay --to-kafka` sends has to mean on the topic what the row means in the file.
    @Test(arguments: [RouteConfiguration.DateFormat.iso8601, .milliseconds])
    func `a row sent as JSON means the same`(dates: RouteConfiguration.DateFormat) throws {
        let date = dates == .iso8601 ? "2004-07-01" : "1088640000000"
        try expectSameMeaning(
            """
            name,small,ratio,price,isOpen,happenedAt,owner,Clerk
            "say "\"hi\"\"",7,1.5,12.50,yes,\(date),0f8fad5b-d9cb-469f-a165-70867728950e,X
            ,1,,,,,,
            "","","","","","","",""
            """
        ) {
            ($0.identity, $0.identityPrefix, $0.dates) = (.row, "WO-", dates)
            ($0.ignore, $0.constants) = (["Clerk"], ["large": .integer(1)])
        }
    }

    @Test func `identities that are numbers survive the way through a topic`() throws {
        try expectSameMeaning("number,label\n1,a\n2,b\n") { $0.entity = "Part" }
        try expectSameMeaning("No,label\n1,a\n2,b\n") { ($0.entity, $0.identity) = ("Part", .field("No")) }
        try expectSameMeaning("id,name\n17,a\n") { $0.identityPrefix = "WO-" }
    }

    private func expectSameMeaning(_ text: String, _ change: (inout RouteConfiguration) -> Void) throws {
        let folder = TestFolder()
        let (decoder, rows, reader) = try open(folder.write("rows.csv", text), [route(change: change)])
        let topic = try TestDecoder(decoder.model, format: .json, routes: [route(change: change)])
        while try reader.next({ record in
            let json = String(decoding: try rows.json(record), as: UTF8.self)
            let (sent, read) = (try topic.shown(json), decoder.model.shown(try rows.decode(record, source(record))))
            #expect(sent == read, "\(json)")
        }) {}
        #expect(reader.recordNumber > 0)
    }

    @Test func `a whole number with a point is one and a date may end with Z`() throws {
        #expect(
            try rows("id,large,happenedAt\nw1,5.0,2026-01-02Z\nw2,5.5,2026-01-02\n").map { $0[0] }
                == ["upsert WorkOrder w1 large=5 happenedAt=2026-01-02T00:00:00Z", "decode.type"])
    }

    @Test func `conditions compare decimals and keep the digits of doubles`() throws {
        let text = "id,price,ratio\nw1,10.50,1\nw2,8.50,12345678901234567.89\nw3,100,2\n"
        #expect(
            try rows(text) { $0.filter = "price > 9" }
                == [["upsert WorkOrder w1 price=10.5 ratio=1.0"], [], ["upsert WorkOrder w3 price=100 ratio=2.0"]])
        #expect(
            try rows(text) { $0.filter = "ratio = 12345678901234567.89 OR price > ratio" }.map(\.count) == [1, 1, 1])
    }
}
