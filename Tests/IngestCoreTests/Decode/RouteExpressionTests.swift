import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct RouteExpressionTests {
    private func decoder(
        _ entity: String = "WorkOrder", format: EventFormat = .json, _ change: (inout RouteConfiguration) -> Void
    ) throws -> TestDecoder {
        var route = RouteConfiguration(entity: entity)
        change(&route)
        return try TestDecoder(TestModels.kinds(), format: format, routes: [route])
    }

    // MARK: Identities

    @Test func `a template of fields identifies an object`() throws {
        let decoder = try decoder { $0.identity = .field("{siteid}-{wonum}") }
        #expect(try decoder.shown("{\"siteid\":\"B\",\"wonum\":17,\"name\":\"N\"}") == ["upsert WorkOrder B-17 name=N"])
        for missing in ["{\"siteid\":\"B\"}", "{\"siteid\":null,\"wonum\":17}"] {
            #expect(decoder.failure(missing)?.code == "decode.missing_identity")
        }
        #expect(decoder.failure("{\"siteid\":{},\"wonum\":1}")?.code == "decode.type")
    }

    @Test(arguments: [
        ("$key", "k1"), ("$header.tenant", "north"), ("$topic", "events"), ("$row", "42"),
        ("{$topic}/{$row}", "events/42"),
        ("{{{id}}}", "{x}"), ("{$key}{$header.tenant}", "k1north"), ("{list[1].n}", "7"), ("{\"a.b\"}", "dot"),
        ("{$record.id}", "x"),
    ])
    func `variables and quoted paths identify an object`(expression: String, identity: String) throws {
        let decoder = try decoder { ($0.identity, $0.ignore) = (.field(expression), ["*"]) }
        let record = TestRecord(
            "{\"id\":\"x\",\"list\":[{\"n\":6},{\"n\":7}],\"a.b\":\"dot\"}", key: "k1", headers: ["tenant": "north"],
            offset: 41)
        #expect(try decoder.shown(record) == ["upsert WorkOrder \(identity)"])
    }

    @Test(arguments: [
        ("\"k1\"", "$key", "k1"), ("{\"id\":5}", "$key.id", "5"),
        ("{\"payload\":{\"id\":5},\"schema\":{}}", "$key.id", "5"),
    ])
    func `the field of a key may identify an object`(key: String, expression: String, identity: String) throws {
        let decoder = try decoder { $0.identity = .field(expression) }
        #expect(try decoder.shown(TestRecord("{\"name\":\"N\"}", key: key)) == ["upsert WorkOrder \(identity) name=N"])
        #expect(decoder.failure("{\"name\":\"N\"}")?.code == "decode.missing_identity")
    }

    @Test func `a file's name and folder are variables`() throws {
        let decoder = try decoder { ($0.identity, $0.fields) = (.field("{$folder}/{$file}"), ["name": "$folder"]) }
        var record = TestRecord("{}")
        record.topic = "file:/export/general/2026-01-02.json"
        #expect(try decoder.shown(record) == ["upsert WorkOrder general/2026-01-02.json name=general"])
    }

    @Test func `a null value deletes the object that a template makes of the key`() throws {
        let decoder = try decoder { $0.identity = .field("{site}-{no}") }
        #expect(try decoder.shown(TestRecord(nil, key: "{\"site\":\"B\",\"no\":17}")) == ["delete WorkOrder B-17"])
        for key in ["B-17", "{\"site\":\"B\"}"] {
            #expect(decoder.failure(TestRecord(nil, key: key))?.code == "decode.identity")
        }
        let variables = try self.decoder { $0.identity = .field("{$topic}/{$key}") }
        #expect(try variables.shown(TestRecord(nil, key: "17")) == ["delete WorkOrder events/17"])
    }

    @Test func `a header that is not UTF-8 is no text of an expression`() throws {
        let changes: [(inout RouteConfiguration) -> Void] = [
            { $0.identity = .field("{$header.tenant}/{id}") }, { $0.identity = .field("$header.tenant") },
            { $0.fields = ["name": "$header.tenant"] }, { $0.typeField = "$header.tenant" },
            { $0.timeField = "$header.tenant" }, { $0.constants = ["name": .string("{$header.tenant}")] },
        ]
        for change in changes {
            var route = RouteConfiguration(entity: "WorkOrder")
            change(&route)
            let decoder = try TestDecoder(TestModels.kinds(), format: .json, routes: [route])
            for byte in [0xFE, 0xFF] as [UInt8] {
                var record = TestRecord("{\"id\":\"w1\"}")
                record.headers = [RecordHeader("tenant", [byte, 1]), RecordHeader("other", [0xFF])]
                let failure = try #require(decoder.failure(record))
                #expect(failure.code == "decode.type" && failure.description.contains("'tenant'"))
            }
        }
    }

    // MARK: Fields

    @Test func `templates give fields, references and constants`() throws {
        let decoder = try decoder {
            $0.identity = .field("{site}-{id}")
            $0.fields = ["name": "{a.first} {a.last}", "small": "{n}", "owner": "00000000-0000-0000-0000-{owner}"]
            $0.constants = [
                "extra": .string("{\"a\":1}"), "price": .string("{n}.5"), "place": .string("https://x/{{y}}"),
            ]
        }
        #expect(
            try decoder.shown(
                "{\"site\":\"B\",\"id\":1,\"a\":{\"first\":\"A\",\"last\":\"B\"},\"n\":3,\"owner\":\"00000000000a\"}")
                == [
                    "upsert WorkOrder B-1 name=A B small=3 price=3.5 extra={\"a\":1} place=https://x/{{y}} "
                        + "owner=00000000-0000-0000-0000-00000000000a"
                ])
        // A part that is missing leaves the property alone; one that is null clears it.
        #expect(
            try decoder.shown("{\"site\":\"B\",\"id\":1,\"a\":{\"first\":\"A\",\"last\":null},\"n\":3}") == [
                "upsert WorkOrder B-1 name=null small=3 price=3.5 extra={\"a\":1} place=https://x/{{y}}"
            ])
        let priced = try self.decoder { $0.fields = ["price": "{n}.5"] }
        let wrong = try #require(priced.failure("{\"id\":\"w1\",\"n\":\"many\"}"))
        #expect(wrong.code == "decode.type" && wrong.description.contains("WorkOrder.price, which '{n}.5' gives"))
        #expect(wrong.description.contains("'many.5'"))
    }

    @Test func `a record's timestamp may be its time and a date`() throws {
        let decoder = try decoder { ($0.timeField, $0.fields) = ("$timestamp", ["happenedAt": "$timestamp"]) }
        let event = try TestRecord("{\"id\":\"w1\"}").deliver { record in
            var record = record
            record.timestampMilliseconds = 1_767_323_045_000
            return try decoder.decoder.decode(record)
        }
        #expect(
            decoder.model.shown(event) == [
                "upsert WorkOrder w1 version=2026-01-02T03:04:05Z happenedAt=2026-01-02T03:04:05Z"
            ])
    }

    @Test func `a header may be the type`() throws {
        let decoder = try decoder { ($0.type, $0.typeField) = ("made", "$header.event") }
        #expect(try decoder.shown(TestRecord("{\"id\":\"w1\"}", headers: ["event": "made"])) == ["upsert WorkOrder w1"])
        #expect(decoder.failure(TestRecord("{\"id\":\"w1\"}", headers: ["event": "x"]))?.code == "decode.no_route")
    }

    @Test func `constants and defaults may be references`() throws {
        let owner = "00000000-0000-0000-0000-00000000000a"
        let constant = try decoder { $0.constants = ["owner": .string(owner)] }
        #expect(try constant.shown("{\"id\":\"w1\"}") == ["upsert WorkOrder w1 owner=\(owner)"])
        let missing = try decoder { $0.defaults = ["owner": .string(owner)] }
        #expect(try missing.shown("{\"id\":\"w1\"}") == ["upsert WorkOrder w1 owner=\(owner)"])
        let other = owner.dropLast() + "b"
        #expect(try missing.shown("{\"id\":\"w1\",\"owner\":\"\(other)\"}") == ["upsert WorkOrder w1 owner=\(other)"])
    }

    @Test func `one element of a relationship to many is added or removed`() throws {
        let decoder = try decoder { ($0.add, $0.remove) = (["parts": "joined"], ["parts": "left"]) }
        #expect(try decoder.shown("{\"id\":\"w1\",\"joined\":1}") == ["upsert WorkOrder w1 parts+[1]-[]"])
        #expect(
            try decoder.shown("{\"id\":\"w1\",\"joined\":[1,2],\"left\":3}") == ["upsert WorkOrder w1 parts+[1, 2]-[3]"]
        )
        #expect(try decoder.shown("{\"id\":\"w1\"}") == ["upsert WorkOrder w1"])
        #expect(decoder.failure("{\"id\":\"w1\",\"joined\":\"x\"}")?.code == "decode.identity")
    }

    @Test func `the prefix goes before references where asked`() throws {
        let decoder = try decoder("Part") {
            ($0.identity, $0.identityPrefix, $0.prefixReferences) = (.field("no"), "1", ["order"])
        }
        #expect(try decoder.shown("{\"no\":7,\"order\":\"w1\"}") == ["upsert Part 17 order=1w1"])
        #expect(
            try decoder.shown("{\"no\":7,\"order\":{\"id\":\"w1\",\"name\":\"N\"}}") == [
                "upsert WorkOrder 1w1 name=N", "upsert Part 17 order=1w1",
            ])
        #expect(try decoder.shown("{\"no\":7,\"order\":null}") == ["upsert Part 17 order=null"])
    }

    // MARK: Conditions

    @Test func `conditions take quoted keys, indexes and hyphens`() throws {
        let decoder = try decoder {
            $0.condition = "a.\"m.x\".y = 'v' AND b[1].record-type != 'data' AND n = 1"
            $0.ignore = ["*"]
        }
        let fitting = "{\"id\":\"w1\",\"a\":{\"m.x\":{\"y\":\"v\"}},\"b\":[1,{\"record-type\":\"x\"}],\"n\":1}"
        #expect(try decoder.shown(fitting) == ["upsert WorkOrder w1"])
        #expect(decoder.failure("{\"id\":\"w1\",\"n\":1}")?.code == "decode.no_route")
    }

    // MARK: Refusals

    @Test(arguments: [
        ("$kye", "did you mean", "'$key'"), ("{$tpoic}", "did you mean", "'$topic'"), ("{id", "not closed", ""),
        ("id}{x}", "without its", ""), ("{}", "empty braces", ""), ("a.\"b", "not closed", ""),
        ("$parent", "no known variable", ""),
    ])
    func `an expression that cannot be read is refused with its place`(text: String, part: String, hint: String) throws
    {
        var route = RouteConfiguration(entity: "WorkOrder")
        route.identity = .field(text)
        route.place = ConfigurationPlace(.file(path: "w.yaml", line: 3, column: 5))
        let error = try #require(
            caught(RouteError.self) { try TestDecoder(TestModels.kinds(), format: .json, routes: [route]) })
        #expect(
            error.description.lowercased().contains(part) && (hint.isEmpty || error.description.contains(hint)),
            "\(error)")
        #expect(error.description.hasPrefix("w.yaml:3:5: "))
    }

    @Test func `an unknown variable in a file is refused where it stands`() throws {
        let yaml =
            "topics:\n  - name: t\n    format: json\n    routes:\n      - entity: A\n        fields: { x: $tpoic }\n"
        let error = try #require(
            caught(ConfigurationError.self) { try WorkerConfiguration.load(yaml: yaml, name: "w.yaml") })
        let problem = try #require(error.problems.first)
        #expect(problem.suggestion == "$topic")
        #expect("\(problem.origin)" == "w.yaml:6:22")
    }
}
