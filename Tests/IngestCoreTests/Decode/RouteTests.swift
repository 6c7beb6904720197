import ObjectGraph
import Testing

@testable import IngestCore

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

    @Test func aRouteIsChosenByItsType() throws {
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

    @Test func aRecordThatNoRouteTakesIsNoEvent() throws {
        let decoder = try decoder(route("Part") { ($0.type, $0.typeField) = ("part", "kind") })
        #expect(decoder.failure("{\"kind\":\"other\",\"number\":1}")?.code == "decode.no_route")
        #expect(decoder.failure("{\"number\":1}")?.code == "decode.no_route")
    }

    @Test func typeTimeAndDataMayLieDeep() throws {
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

    @Test func envelopeFieldsBesideThePropertiesAreNoProperties() throws {
        let decoder = try decoder(
            route("WorkOrder") { ($0.typeField, $0.timeField, $0.identity) = ("kind", "at", .field("key")) })
        #expect(
            try decoder.shown("{\"kind\":\"x.updated\",\"at\":\"2026-01-01\",\"key\":\"w1\",\"name\":\"N\"}") == [
                "upsert WorkOrder w1 version=2026-01-01T00:00:00Z name=N"
            ])
    }

    // MARK: Identities

    @Test func anIdentityMayLieDeepAndBeANumber() throws {
        let decoder = try decoder(route("WorkOrder") { ($0.identity, $0.data) = (.field("head.number"), "body") })
        #expect(
            try decoder.shown("{\"head\":{\"number\":17},\"body\":{\"name\":\"N\"}}") == ["upsert WorkOrder 17 name=N"])
        #expect(decoder.failure("{\"head\":{},\"body\":{}}")?.code == "decode.missing_identity")
        let wrong = try #require(decoder.failure("{\"head\":{\"number\":true},\"body\":{}}"))
        #expect(wrong.code == "decode.identity" && wrong.description.contains("'head.number'"))
    }

    @Test func theFieldOfTheRouteIsTheIdentityWhateverTheDataSays() throws {
        let decoder = try decoder(route("WorkOrder") { ($0.identity, $0.identityPrefix) = (.field("id"), "import-") })
        #expect(try decoder.shown("{\"id\":17,\"name\":\"N\"}") == ["upsert WorkOrder import-17 name=N"])
        #expect(try decoder.shown("{\"id\":\"x\"}") == ["upsert WorkOrder import-x"])
        let deep = try self.decoder(route("WorkOrder") { ($0.identity, $0.data) = (.field("head.id"), "body") })
        #expect(try deep.shown("{\"head\":{\"id\":\"w1\"},\"body\":{\"id\":\"other\"}}") == ["upsert WorkOrder w1"])
    }

    @Test func aPrefixGoesBeforeTheModelsIdentityToo() throws {
        let decoder = try decoder(route("WorkOrder") { $0.identityPrefix = "import-" })
        #expect(try decoder.shown("{\"id\":\"x\"}") == ["upsert WorkOrder import-x"])
        #expect(decoder.failure("{\"name\":\"x\"}")?.code == "decode.missing_identity")
        let alias = try self.decoder(route("WorkOrder") { ($0.identityPrefix, $0.aliases) = ("import-", ["no": "id"]) })
        #expect(try alias.shown("{\"no\":\"x\"}") == ["upsert WorkOrder import-x"])
    }

    @Test func aRecordsNumberMayIdentify() throws {
        let row = route("WorkOrder") { ($0.identity, $0.identityPrefix) = (.row, "WO-") }
        let decoder = try decoder(row)
        #expect(try decoder.shown(TestRecord("{\"name\":\"N\"}", offset: 41)) == ["upsert WorkOrder WO-42 name=N"])
        #expect(try decoder.shown("{\"$row\":7}") == ["upsert WorkOrder WO-7"])
        let part = try self.decoder(route("Part") { $0.identity = .row })
        #expect(try part.shown("{\"$row\":7}") == ["upsert Part 7"])
    }

    @Test func anIdentityIsATextWithoutNUL() throws {
        let decoder = try decoder(route("WorkOrder") { $0.identity = .field("key") })
        #expect(decoder.failure("{\"key\":\"a\\u0000b\"}")?.code == "decode.identity")
    }

    // MARK: Aliases, constants, ignored fields

    @Test func aliasesStandForProperties() throws {
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

    @Test func nestedObjectsHaveTheModelsNames() throws {
        let decoder = try decoder(route("WorkOrder") { $0.aliases = ["label": "name"] })
        #expect(
            try decoder.shown("{\"id\":\"w1\",\"label\":\"N\",\"parts\":[{\"number\":1,\"label\":\"L\"}]}") == [
                "upsert Part 1 label=L", "upsert WorkOrder w1 name=N parts=[1]",
            ])
    }

    @Test func constantsAreAddedToEveryUpsert() throws {
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

    @Test func cloudEventsMayTakeRoutes() throws {
        let decoder = try decoder(
            route("Part") { ($0.type, $0.aliases) = ("spare.made", ["no": "number"]) }, format: .cloudevents)
        #expect(try decoder.shown("spare.made", "{\"no\":1}") == ["upsert Part 1"])
        #expect(try decoder.shown("part.deleted", "{\"number\":1}") == ["delete Part 1"])
        #expect(
            try decoder.shown("{\"type\":\"spare.made\",\"subject\":\"17\",\"data\":{}}") == ["upsert Part 17"])
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
    ])
    func saysWhyARouteDoesNotFit(route: RouteConfiguration, part: String) throws {
        let model = try TestModels.kinds()
        let error = try #require(
            caught(RouteError.self) { try TestDecoder(model, format: .json, routes: [route]) })
        #expect(error.description.contains(part), "\(error)")
        #expect(error.code == "config.route" && !error.isRetriable)
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

    @Test func someFormatsNeedWhatTheyDoNotHave() throws {
        let model = try TestModels.kinds()
        let json = try #require(caught(RouteError.self) { try TestDecoder(model, format: .json) })
        #expect(json.description.contains("needs routes"))
        let debezium = try #require(caught(RouteError.self) { try TestDecoder(model, format: .debezium) })
        #expect(debezium.description.contains("not supported"))
    }
}
