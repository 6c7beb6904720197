import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct RouteTests {
    private func route(_ entity: String, _ change: (inout RouteConfiguration) -> Void = { _ in }) -> RouteConfiguration
    {
        var route = RouteConfiguration(entity: entity)
        change(&route)
        return route
    }

    private func decoder(_ routes: RouteConfiguration..., format: EventFormat = .json) throws -> TestDecoder {
        try TestDecoder(TestModels.kinds(), format: format, routes: routes)
    }

    @Test func `a route is chosen by its type`() throws {
        let decoder = try decoder(
            route("Part") { ($0.type, $0.typeField) = ("part", "kind") },
            route("Part") { ($0.type, $0.typeField, $0.verb) = ("gone", "kind", .delete) },
            route("WorkOrder") { $0.typeField = "kind" })
        #expect(try decoder.shown("{\"kind\":\"part\",\"number\":1}") == ["upsert Part 1"])
        #expect(try decoder.shown("{\"kind\":\"gone\",\"number\":1}") == ["delete Part 1"])
        #expect(try decoder.shown("{\"kind\":\"anything\",\"id\":\"w1\"}") == ["upsert WorkOrder w1"])
        #expect(try decoder.shown("{\"kind\":\"order.deleted\",\"id\":\"w1\"}") == ["delete WorkOrder w1"])
        #expect(try decoder.shown("{\"id\":\"w1\"}") == ["upsert WorkOrder w1"])
    }

    @Test func `a record that no route takes is no event`() throws {
        let decoder = try decoder(route("Part") { ($0.type, $0.typeField) = ("part", "kind") })
        #expect(decoder.failure("{\"kind\":\"other\",\"number\":1}")?.code == "decode.no_route")
        #expect(decoder.failure("{\"number\":1}")?.code == "decode.no_route")
    }

    @Test func `type time and data may lie deep`() throws {
        let decoder = try decoder(
            route("WorkOrder") {
                $0.type = "order.changed"
                ($0.typeField, $0.timeField, $0.data) = ("meta.type", "meta.at", "body.order")
                ($0.verb, $0.dates) = (.upsert, .milliseconds)
            })
        #expect(
            try decoder.shown(
                """
                {"meta":{"type":"order.changed","at":1767323045000},"body":{"order":{"id":"w1","happenedAt":1000}}}
                """) == ["upsert WorkOrder w1 version=2026-01-02T03:04:05Z happenedAt=1970-01-01T00:00:01Z"])
        let wrong = try #require(decoder.failure("{\"meta\":{\"type\":\"order.changed\",\"at\":\"now\"}}"))
        #expect(wrong.code == "decode.type" && wrong.description.contains("meta.at"))
        let missing = try #require(decoder.failure("{\"meta\":{\"type\":\"order.changed\"}}"))
        #expect(missing.code == "decode.envelope" && missing.description.contains("body.order"))
    }

    @Test func `envelope fields beside the properties are no properties`() throws {
        let decoder = try decoder(
            route("WorkOrder") { ($0.typeField, $0.timeField, $0.identity) = ("kind", "at", .field("key")) })
        #expect(
            try decoder.shown("{\"kind\":\"x.updated\",\"at\":\"2026-01-01\",\"key\":\"w1\",\"name\":\"N\"}") == [
                "upsert WorkOrder w1 version=2026-01-01T00:00:00Z name=N"
            ])
    }

    // MARK: Identities

    @Test func `an identity may lie deep and be a number`() throws {
        let decoder = try decoder(route("WorkOrder") { ($0.identity, $0.data) = (.field("head.number"), "body") })
        #expect(
            try decoder.shown("{\"head\":{\"number\":17},\"body\":{\"name\":\"N\"}}") == ["upsert WorkOrder 17 name=N"])
        #expect(decoder.failure("{\"head\":{},\"body\":{}}")?.code == "decode.missing_identity")
        let wrong = try #require(decoder.failure("{\"head\":{\"number\":true},\"body\":{}}"))
        #expect(wrong.code == "decode.identity" && wrong.description.contains("'head.number'"))
    }

    @Test func `the field of the route is the identity whatever the data says`() throws {
        let decoder = try decoder(route("WorkOrder") { ($0.identity, $0.identityPrefix) = (.field("id"), "import-") })
        #expect(try decoder.shown("{\"id\":17,\"name\":\"N\"}") == ["upsert WorkOrder import-17 name=N"])
        #expect(try decoder.shown("{\"id\":\"x\"}") == ["upsert WorkOrder import-x"])
        let deep = try self.decoder(route("WorkOrder") { ($0.identity, $0.data) = (.field("head.id"), "body") })
        #expect(try deep.shown("{\"head\":{\"id\":\"w1\"},\"body\":{\"id\":\"other\"}}") == ["upsert WorkOrder w1"])
    }

    @Test func `a prefix goes before the model's identity too`() throws {
        let decoder = try decoder(route("WorkOrder") { $0.identityPrefix = "import-" })
        #expect(try decoder.shown("{\"id\":\"x\"}") == ["upsert WorkOrder import-x"])
        #expect(decoder.failure("{\"name\":\"x\"}")?.code == "decode.missing_identity")
        let alias = try self.decoder(route("WorkOrder") { ($0.identityPrefix, $0.aliases) = ("import-", ["no": "id"]) })
        #expect(try alias.shown("{\"no\":\"x\"}") == ["upsert WorkOrder import-x"])
    }

    @Test func `a record's number may identify`() throws {
        let row = route("WorkOrder") { ($0.identity, $0.identityPrefix) = (.row, "WO-") }
        let decoder = try decoder(row)
        #expect(try decoder.shown(TestRecord("{\"name\":\"N\"}", offset: 41)) == ["upsert WorkOrder WO-42 name=N"])
        #expect(try decoder.shown("{\"$row\":7}") == ["upsert WorkOrder WO-7"])
        let part = try self.decoder(route("Part") { $0.identity = .row })
        #expect(try part.shown("{\"$row\":7}") == ["upsert Part 7"])
    }

    @Test func `an identity is a text without NUL`() throws {
        let decoder = try decoder(route("WorkOrder") { $0.identity = .field("key") })
        #expect(decoder.failure("{\"key\":\"a\\u0000b\"}")?.code == "decode.identity")
    }

    // MARK: Aliases, constants, ignored fields

    @Test func `aliases stand for properties`() throws {
        let decoder = try decoder(
            route("WorkOrder") {
                $0.aliases = [
                    "number": "id", "Title": "name", "belongsTo": "owner", "pieces": "parts", "n": "partsCount",
                ]
                $0.ignore = ["noise"]
            })
        #expect(
            try decoder.shown("{\"number\":\"w1\",\"Title\":\"N\",\"pieces\":[1],\"noise\":{\"a\":[]},\"n\":5}") == [
                "upsert WorkOrder w1 name=N parts=[1]"
            ])
        #expect(decoder.failure("{\"number\":\"w1\",\"title\":\"N\"}")?.code == "decode.unknown_property")
    }

    @Test func `nested objects have the model's names`() throws {
        let decoder = try decoder(route("WorkOrder") { $0.aliases = ["label": "name"] })
        #expect(
            try decoder.shown("{\"id\":\"w1\",\"label\":\"N\",\"parts\":[{\"number\":1,\"label\":\"L\"}]}") == [
                "upsert Part 1 label=L", "upsert WorkOrder w1 name=N parts=[1]",
            ])
    }

    @Test func `constants are added to every upsert`() throws {
        let decoder = try decoder(
            route("WorkOrder") {
                $0.typeField = "kind"
                $0.constants = [
                    "name": .string("N"), "small": .integer(3), "isOpen": .boolean(true), "price": .double(1.5),
                    "share": .null,
                    "token": .string("00010203-0405-0607-0809-0a0b0c0d0e0f"),
                ]
            })
        #expect(
            try decoder.shown("{\"id\":\"w1\",\"parts\":[{\"number\":1,\"label\":\"L\"}]}") == [
                "upsert Part 1 label=L",
                "upsert WorkOrder w1 isOpen=true name=N price=1.5 share=null small=3 "
                    + "token=00010203-0405-0607-0809-0a0b0c0d0e0f parts=[1]",
            ])
        #expect(try decoder.shown("{\"id\":\"w1\",\"kind\":\"x.deleted\"}") == ["delete WorkOrder w1"])
    }

    @Test func `CloudEvents may take routes`() throws {
        let decoder = try decoder(
            route("Part") { ($0.type, $0.aliases) = ("spare.made", ["no": "number"]) }, format: .cloudevents)
        #expect(try decoder.shown("spare.made", "{\"no\":1}") == ["upsert Part 1"])
        #expect(try decoder.shown("part.deleted", "{\"number\":1}") == ["delete Part 1"])
        #expect(
            try decoder.shown("{\"type\":\"spare.made\",\"subject\":\"17\",\"data\":{}}") == ["upsert Part 17"])
    }

    // MARK: What a route takes

    @Test func `a route may ask for topic headers and fields`() throws {
        let decoder = try decoder(
            route("Part") { $0.topic = "spare.*" },
            route("Owner") { $0.headers = ["kind": "owner", "tenant": "a"] },
            route("WorkOrder") { ($0.condition, $0.ignore) = ("state.open = true AND small IN {1, 2}", ["state"]) })
        var record = TestRecord("{\"number\":1}")
        record.topic = "spare.parts"
        #expect(try decoder.shown(record) == ["upsert Part 1"])
        let key = "00000000-0000-0000-0000-00000000000a"
        let owner = TestRecord("{\"key\":\"\(key)\"}", headers: ["tenant": "a", "kind": "owner"])
        #expect(try decoder.shown(owner) == ["upsert Owner \(key)"])
        #expect(
            try decoder.shown("{\"id\":\"w1\",\"state\":{\"open\":true},\"small\":2}") == [
                "upsert WorkOrder w1 small=2"
            ])
        for other in ["{\"id\":\"w1\",\"small\":1}", "{\"id\":\"w1\",\"state\":{\"open\":true},\"small\":3}"] {
            #expect(decoder.failure(other)?.code == "decode.no_route")
        }
    }

    @Test(arguments: [
        ("a = 1", true), ("a != 1", false), ("a = 1.0", true), ("a = '1'", false), ("a > 0 AND a <= 1", true),
        ("a BETWEEN {1, 2}", true), ("NOT a = 1", false), ("t BEGINSWITH 'wo'", true), ("t CONTAINS[c] 'RK'", true),
        ("t ENDSWITH 'rd'", false), ("t LIKE 'w?r*'", true),
        (#"t LIKE 'w\\or?'"#, true), ("t > 'a'", true), ("t > 1", false), ("d.e = true", true),
        ("d.x = nil", true), ("d.e != nil", true), ("d = nil", false), ("missing < 3", false), ("a > -1", true),
        ("a IN {-1, 1}", true), ("n = nil", true),
        ("t IN {'a', 'work'}", true), ("a = 2 OR t = 'work'", true), ("d.e = 1", false),
    ])
    func `conditions compare the fields of a record`(condition: String, holds: Bool) throws {
        let decoder = try decoder(
            route("WorkOrder") { ($0.filter, $0.ignore) = (condition, ["*"]) })
        let operations = try decoder.shown(
            "{\"id\":\"w1\",\"a\":1,\"t\":\"work\",\"d\":{\"e\":true},\"n\":null}")
        #expect(operations.isEmpty != holds)
        #expect(decoder.decoder.skipReason == (holds ? nil : .filter))
    }

    @Test func `a dropped record needs no entity`() throws {
        let decoder = try decoder(
            route("") { ($0.type, $0.typeField, $0.verb) = ("ping", "kind", .drop) },
            route("WorkOrder") { $0.typeField = "kind" })
        #expect(try decoder.shown("{\"kind\":\"ping\"}").isEmpty)
        #expect(decoder.decoder.skipReason == .drop)
        #expect(try decoder.shown("{\"kind\":\"x\",\"id\":\"w1\"}") == ["upsert WorkOrder w1"])
    }

    @Test func `conditions hold for CloudEvents too`() throws {
        let decoder = try decoder(route("Part") { $0.condition = "number > 5" }, format: .cloudevents)
        #expect(try decoder.shown("spare.made", "{\"number\":6}") == ["upsert Part 6"])
        #expect(try decoder.shown("part.created", "{\"number\":1,\"label\":\"L\"}") == ["upsert Part 1 label=L"])
    }

    // MARK: What a route makes of values

    @Test(
        arguments: [
            ("small", .text, "\"12\"", "12"), ("small", .text, "12", "12"), ("isOpen", .text, "\"yes\"", "true"),
            ("isOpen", .number, "0", "false"), ("name", .number, "1.5", "1.5"), ("name", .number, "7", "7"),
            ("name", .boolean, "true", "true"), ("large", .boolean, "true", "1"),
            ("happenedAt", .seconds, "1767323045", "2026-01-02T03:04:05Z"),
            ("happenedAt", .days, "1", "1970-01-02T00:00:00Z"),
            ("happenedAt", .milliseconds, "\"2026-01-02\"", "2026-01-02T00:00:00Z"),
            ("name", .milliseconds, "1500", "1970-01-01T00:00:01.500Z"), ("price", .text, "\"1.50\"", "1.5"),
            ("owner", .text, "\"00000000-0000-0000-0000-00000000000a\"", "00000000-0000-0000-0000-00000000000a"),
        ] as [(String, RouteConfiguration.ValueForm, String, String)])
    func `values are read as the route says`(
        name: String, form: RouteConfiguration.ValueForm, value: String, expected: String
    ) throws {
        let decoder = try decoder(route("WorkOrder") { ($0.types, $0.aliases) = ([name: form], ["x": name]) })
        #expect(try decoder.shown("{\"id\":\"w1\",\"x\":\(value)}") == ["upsert WorkOrder w1 \(name)=\(expected)"])
    }

    @Test func `a value that does not fit its type is no event`() throws {
        let decoder = try decoder(route("WorkOrder") { $0.types = ["small": .text, "id": .number] })
        #expect(try decoder.shown("{\"id\":7}") == ["upsert WorkOrder 7"])
        for value in ["\"70000\"", "\"x\"", "true"] {
            #expect(decoder.failure("{\"id\":\"w1\",\"small\":\(value)}")?.code == "decode.type")
        }
    }

    @Test(
        arguments: [
            ("price", .text, "\"1.234,50\"", "a decimal number of up to 38 digits, such as 12.50, written as text"),
            ("name", .number, "true", "a number, or a text"), ("isOpen", .boolean, "\"x\"", "true or false"),
            ("happenedAt", .nanoseconds, "\"x\"", "a number of nanoseconds since 1970"),
        ] as [(String, RouteConfiguration.ValueForm, String, String)])
    func `a value that does not fit its type says which would`(
        name: String, form: RouteConfiguration.ValueForm, value: String, expectation: String
    ) throws {
        let decoder = try decoder(route("WorkOrder") { $0.types = [name: form] })
        let failure = try #require(decoder.failure("{\"id\":\"w1\",\"\(name)\":\(value)}"))
        #expect(failure.description.contains("WorkOrder.\(name) has to be \(expectation)"), "\(failure.description)")
    }

    @Test func `defaults fill what is missing or null`() throws {
        let decoder = try decoder(
            route("WorkOrder") { $0.defaults = ["name": .string("none"), "small": .integer(1)] })
        #expect(try decoder.shown("{\"id\":\"w1\",\"small\":2}") == ["upsert WorkOrder w1 small=2 name=none"])
        #expect(
            try decoder.shown("{\"id\":\"w1\",\"name\":null,\"small\":2}") == [
                "upsert WorkOrder w1 name=null small=2 name=none"
            ])
    }

    @Test func `properties may lie anywhere in the record`() throws {
        let decoder = try decoder(
            route("WorkOrder") { ($0.data, $0.fields) = ("body", ["name": "head.by", "owner": "head.owner"]) })
        let key = "00000000-0000-0000-0000-00000000000a"
        #expect(
            try decoder.shown("{\"head\":{\"by\":\"me\",\"owner\":\"\(key)\"},\"body\":{\"id\":\"w1\"}}") == [
                "upsert WorkOrder w1 name=me owner=\(key)"
            ])
    }

    @Test func `fields without a property may be ignored`() throws {
        let decoder = try decoder(route("WorkOrder") { $0.ignore = ["*", "name"] })
        #expect(
            try decoder.shown("{\"id\":\"w1\",\"x\":1,\"name\":\"N\",\"small\":2}") == ["upsert WorkOrder w1 small=2"])
    }

    // MARK: Splits

    @Test func `the elements of an array become objects`() throws {
        var split = SplitConfiguration(field: "lines", entity: "Part", parent: "order")
        (split.aliases, split.ignore, split.constants) = (["no": "number"], ["*"], ["label": .string("L")])
        let decoder = try decoder(route("WorkOrder") { ($0.splits, $0.identityPrefix) = ([split], "p-") })
        #expect(
            try decoder.shown("{\"lines\":[{\"no\":1,\"x\":2},{\"no\":2}],\"id\":\"w1\"}") == [
                "upsert Part 1 label=L", "upsert Part 2 label=L", "upsert WorkOrder p-w1 parts+[1, 2]-[]",
            ])
        #expect(try decoder.shown("{\"id\":\"w1\",\"lines\":null}") == ["upsert WorkOrder p-w1"])
        #expect(decoder.failure("{\"id\":\"w1\",\"lines\":7}")?.code == "decode.relationship")
        #expect(decoder.failure("{\"id\":\"w1\",\"lines\":[7]}")?.code == "decode.type")
    }

    @Test func `elements may be numbered and replace the set`() throws {
        let model = try ObjectModel.parse(
            """
            model: orders
            version: 1
            entities:
              Order:
                identity: id
                attributes: { id: { type: string } }
                relationships: { lines: { to: Line, many: true, inverse: order, delete: cascade } }
              Line:
                identity: id
                attributes: { id: { type: string }, text: { type: string, optional: true } }
                relationships: { order: { to: Order, inverse: lines, delete: nullify, optional: true } }
            """)
        var split = SplitConfiguration(field: "items", entity: "Line", parent: "order")
        (split.identity, split.identityPrefix, split.replaces) = (.row, "$parent-", true)
        let decoder = try TestDecoder(model, format: .json, routes: [route("Order") { $0.splits = [split] }])
        #expect(
            try decoder.shown("{\"id\":\"o1\",\"items\":[{\"text\":\"a\"},{\"text\":\"b\"}]}") == [
                "upsert Line o1-1 text=a", "upsert Line o1-2 text=b", "upsert Order o1 lines=[o1-1, o1-2]",
            ])
        #expect(try decoder.shown("{\"id\":\"o1\",\"items\":[]}") == ["upsert Order o1 lines=[]"])
    }

    // MARK: Routes that do not fit

    @Test(arguments: [
        (
            RouteConfiguration(entity: "Invoice"),
            "leads to 'Invoice', which is no entity. Known entities are: WorkOrder, Part"
        ),
        (aliased(["x": "nme"]), "An alias of topic events stands for 'nme', which WorkOrder does not have"),
        (constant("nme", .null), "'nme', which is no stored attribute of WorkOrder"),
        (constant("partsCount", .integer(1)), "'partsCount', which is no stored attribute"),
        (constant("parts", .null), "'parts', which is no stored attribute"),
        (constant("id", .string("w1")), "'id'"),
        (constant("small", .integer(70_000)), "WorkOrder.small has to be a whole number from -32768 to 32767"),
        (constant("isOpen", .string("maybe")), "WorkOrder.isOpen has to be true or false"),
        (changed { $0.defaults = ["nme": .null] }, "A default of topic events is for 'nme'"),
        (changed { $0.types = ["nme": .text] }, "A type of topic events is for 'nme'"),
        (changed { $0.types = ["parts": .text] }, "A type of topic events is for 'parts'"),
        (changed { $0.types = ["happened_at": .seconds] }, "WorkOrder. Did you mean 'happenedAt'?"),
        (changed { $0.types = ["extra": .text] }, "cannot become JSON. Use 'json' for a text that holds JSON"),
        (
            changed { $0.types = ["token": .number] },
            "'number' of topic events for WorkOrder.token cannot become a UUID"
        ),
        (changed { $0.fields = ["id": "x"] }, "A field of topic events is for 'id'"),
        (changed { $0.condition = "a =" }, "The 'where' of a route of topic events cannot be read"),
        (changed { $0.filter = "ANY a.b = 1" }, "ANY is not for records"),
        (changed { $0.filter = "a.@count > 1" }, "@count is not for records"),
        (changed { $0.filter = "lowercase:(a) = 'x'" }, "lowercase: is not for records"),
        (changed { $0.filter = "a MATCHES 'x+'" }, "MATCHES is not for records"),
        (changed { $0.filter = "a + 1 = 2" }, "+ is not for records"),
        (
            changed { $0.splits = [SplitConfiguration(field: "x", entity: "Part", parent: "number")] },
            "names the parent 'number', which is no relationship from Part to one WorkOrder"
        ),
        (
            changed {
                $0.place = ConfigurationPlace(.file(path: "w.yaml", line: 3, column: 5)); $0.entity = "X"
            },
            "w.yaml:3:5: A route of topic events leads to 'X'"
        ),
    ])
    func `says why a route does not fit`(route: RouteConfiguration, part: String) throws {
        let model = try TestModels.kinds()
        let error = try #require(
            caught(RouteError.self) { try TestDecoder(model, format: .json, routes: [route]) })
        #expect(error.description.contains(part), "\(error)")
        #expect(error.code == "config.route" && !error.isRetriable)
    }

    static func changed(_ change: (inout RouteConfiguration) -> Void) -> RouteConfiguration {
        var route = RouteConfiguration(entity: "WorkOrder")
        change(&route)
        return route
    }

    static func aliased(_ aliases: [String: String]) -> RouteConfiguration {
        var route = RouteConfiguration(entity: "WorkOrder")
        route.aliases = aliases
        return route
    }

    static func constant(_ name: String, _ value: ConfigurationScalar) -> RouteConfiguration {
        var route = RouteConfiguration(entity: "WorkOrder")
        route.constants = [name: value]
        return route
    }

    @Test func `some formats need what they do not have`() throws {
        let model = try TestModels.kinds()
        let json = try #require(caught(RouteError.self) { try TestDecoder(model, format: .json) })
        #expect(json.description.contains("needs routes"))
        let connect = try #require(caught(RouteError.self) { try TestDecoder(model, format: .connect) })
        #expect(connect.description.contains("needs routes"))
    }
}
