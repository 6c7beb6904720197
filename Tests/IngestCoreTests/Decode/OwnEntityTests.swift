import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Objects that name their entity under `_entity`, by routes of each kind.
@Suite struct OwnEntityTests {
    private func model() throws -> ObjectModel {
        try ObjectModel.parse(
            """
            model: vehicles
            version: 1
            entities:
              Vehicle:
                identity: id
                attributes:
                  id:    { type: string }
                  name:  { type: string, optional: true }
                  wheels: { type: integer64, optional: true }
                relationships:
                  parts: { to: Vehicle, many: true, inverse: whole, delete: nullify }
                  whole: { to: Vehicle, inverse: parts, delete: nullify, optional: true }
              Truck:
                parent: Vehicle
                attributes:
                  maxLoad: { type: integer64, optional: true }
            """)
    }

    private func decoder(
        _ format: EventFormat = .json, _ change: (inout RouteConfiguration) -> Void
    ) throws -> TestDecoder {
        var route = RouteConfiguration(entity: "Vehicle")
        route.aliases = ["title": "name"]
        change(&route)
        return try TestDecoder(model(), format: format, routes: [route])
    }

    private let truck = "{\"id\":\"t1\",\"_entity\":\"Truck\",\"title\":\"T\",\"maxLoad\":7}"

    @Test func `a route of any kind takes an object of a sub-entity by the names of both`() throws {
        let routes: [(inout RouteConfiguration) -> Void] = [
            { _ in }, { $0.defaults = ["name": .string("N")] }, { $0.types = ["wheels": .text] }, { $0.ignore = ["*"] },
            { $0.splits = [SplitConfiguration(field: "more", entity: "Vehicle", parent: "whole")] },
            { $0.fields = ["wheels": "count"] },
        ]
        for change in routes {
            #expect(try decoder(.json, change).shown(truck) == ["upsert Truck t1 name=T maxLoad=7"])
        }
        #expect(try decoder(.connect) { _ in }.shown(truck) == ["upsert Truck t1 name=T maxLoad=7"])
    }

    @Test func `a row of a table names its entity and columns`() throws {
        let row = "{\"id\":\"t1\",\"_entity\":\"Truck\",\"max_load\":7}"
        let change = DebeziumRecords.change("c", after: row, source: DebeziumRecords.source(table: "vehicles"))
        #expect(
            try TestDecoder(model(), format: .debezium).shown(change) == ["upsert Truck t1 maxLoad=7"])
    }

    @Test func `an element of a split names its entity`() throws {
        let decoder = try decoder {
            $0.splits = [SplitConfiguration(field: "more", entity: "Vehicle", parent: "whole")]
        }
        #expect(
            try decoder.shown("{\"id\":\"v1\",\"more\":[{\"id\":\"t1\",\"_entity\":\"Truck\",\"maxLoad\":7}]}") == [
                "upsert Truck t1 maxLoad=7", "upsert Vehicle v1 parts+[t1]-[]",
            ])
    }

    @Test func `the route's identity and ignored fields hold for a sub-entity`() throws {
        let decoder = try decoder { ($0.identity, $0.ignore) = (.field("{id}/{title}"), ["maxLoad"]) }
        #expect(try decoder.shown(truck) == ["upsert Truck t1/T name=T"])
    }

    @Test(arguments: ["\"Ship\"", "7", "null"])
    func `another entity is refused, whatever the route ignores`(name: String) throws {
        let record = "{\"id\":\"t1\",\"_entity\":\(name)}"
        for ignore in [[], ["*"]] {
            #expect(try decoder { $0.ignore = ignore }.failure(record)?.code == "decode.unknown_entity")
        }
    }
}
