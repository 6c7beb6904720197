import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// The meaning of schemas in references, nested objects, splits, and further objects of a record.
@Suite struct ConnectSchemaTests {
    private typealias Records = DebeziumRecords

    private static let decimal = "org.apache.kafka.connect.data.Decimal"
    private static let scaled = "io.debezium.data.VariableScaleDecimal"

    private func decoder(
        _ entity: String, _ format: EventFormat = .connect, _ change: (inout RouteConfiguration) -> Void = { _ in }
    ) throws -> TestDecoder {
        var route = RouteConfiguration(entity: entity)
        change(&route)
        return try TestDecoder(TestModels.kinds(), format: format, routes: [route])
    }

    private func wrapped(_ fields: [String], _ payload: String) -> String {
        "{\"schema\":\(Records.structure(fields)),\"payload\":\(payload)}"
    }

    /// The schema of an array.
    private func array(_ name: String, of items: String) -> String {
        "{\"type\":\"array\",\"items\":\(items),\"optional\":true,\"field\":\"\(name)\"}"
    }

    /// The number 17 and its schema, as each kind of decimal writes it.
    private static let decimals = [(decimal, "\"EQ==\""), (scaled, "{\"scale\":0,\"value\":\"EQ==\"}")]

    private func field(_ name: String, _ kind: String) -> String {
        Records.field(name, kind == Self.scaled ? "struct" : "bytes", kind, scale: kind == Self.scaled ? nil : 0)
    }

    @Test(arguments: decimals)
    func `a reference is a decimal by column, path and template`(kind: String, value: String) throws {
        let row = [Records.field("number", "int64"), field("ORDER_ID", kind)]
        let payload = "{\"number\":1,\"ORDER_ID\":\(value)}"
        let change = Records.wrapped(
            Records.change("c", after: payload, source: Records.source(table: "parts")), row: row)
        #expect(
            try TestDecoder(TestModels.kinds(), format: .debezium).shown(change) == ["upsert Part 1 order=17"])
        for path in ["after.ORDER_ID", "{after.ORDER_ID}", "$record.after.ORDER_ID"] {
            let decoder = try decoder("Part", .debezium) { ($0.fields, $0.ignore) = (["order": path], ["*"]) }
            let shown = try decoder.shown(change)
            #expect(shown == ["upsert Part 1 order=17"] || shown == ["upsert Part 1 order=17 order=17"], "\(path)")
        }
        let connect = try decoder("Part") { $0.aliases = ["ORDER_ID": "order"] }
        #expect(try connect.shown(wrapped(row, payload)) == ["upsert Part 1 order=17"])
    }

    @Test(arguments: decimals)
    func `the elements of an array have the schema of its items`(kind: String, value: String) throws {
        let fields = [Records.field("id", "string"), array("parts", of: field("x", kind))]
        let record = wrapped(fields, "{\"id\":\"w1\",\"parts\":[\(value)]}")
        #expect(try decoder("WorkOrder").shown(record) == ["upsert WorkOrder w1 parts=[17]"])
        let added = try decoder("WorkOrder") { ($0.add, $0.ignore) = (["parts": "parts"], ["parts"]) }
        #expect(try added.shown(record) == ["upsert WorkOrder w1 parts+[17]-[]"])
        let split = try decoder("WorkOrder") {
            var split = SplitConfiguration(field: "parts", entity: "Part", parent: "order")
            split.identity = .field("$value")
            $0.splits = [split]
        }
        #expect(try split.shown(record) == ["upsert Part 17", "upsert WorkOrder w1 parts+[17]-[]"])
    }

    @Test(arguments: decimals)
    func `nested objects have the schemas of their struct`(kind: String, value: String) throws {
        let order = Records.structure([Records.field("id", "string"), field("price", kind)], field: "order")
        let record = wrapped(
            [field("number", kind), order], "{\"number\":\(value),\"order\":{\"id\":\"w1\",\"price\":\(value)}}")
        let expected = ["upsert WorkOrder w1 price=17", "upsert Part 17 order=w1"]
        #expect(try decoder("Part").shown(record) == expected)
        let reference = Records.structure([field("number", kind)])
        let list = wrapped(
            [Records.field("id", "string"), array("parts", of: reference)],
            "{\"id\":\"w1\",\"parts\":[{\"number\":\(value)}]}")
        #expect(try decoder("WorkOrder").shown(list) == ["upsert WorkOrder w1 parts=[17]"])
    }

    @Test(arguments: decimals, ["lines", "box.lines"])
    func `splits read elements by their schema`(decimal: (String, String), path: String) throws {
        let (kind, value) = decimal
        let fields = [field("no", kind), field("label", kind)]
        let element = Records.structure(fields)
        let object = "{\"no\":\(value),\"label\":\(value)}"
        let shapes: [(schema: String, json: String, isMap: Bool)] = [
            (array("lines", of: element), "[\(object)]", false),
            (Records.structure(fields, field: "lines"), object, false),
            (
                "{\"type\":\"map\",\"keys\":{\"type\":\"string\"},\"values\":\(element),\"field\":\"lines\"}",
                "{\"k\":\(object)}", true
            ),
        ]
        for (schema, json, isMap) in shapes {
            let isInside = path.hasPrefix("box")
            let record = wrapped(
                [Records.field("id", "string"), isInside ? Records.structure([schema], field: "box") : schema],
                "{\"id\":\"w1\",\(isInside ? "\"box\":{\"lines\":\(json)}" : "\"lines\":\(json)")}")
            let decoder = try decoder("WorkOrder") {
                var split = SplitConfiguration(field: path, entity: "Part", parent: "order")
                (split.identity, split.isMap) = (.field("no"), isMap)
                $0.splits = [split]
            }
            #expect(
                try decoder.shown(record) == ["upsert Part 17 label=17", "upsert WorkOrder w1 parts+[17]-[]"])
        }
    }

    @Test func `further objects, versions and times have schemas too`() throws {
        let row = [
            Records.field("id", "string"), Records.field("updatedAt", "int64", "io.debezium.time.MicroTimestamp"),
            field("no", Self.scaled), field("label", Self.decimal),
        ]
        let record = wrapped(
            row,
            "{\"id\":\"w1\",\"updatedAt\":1767323045123456,\"no\":{\"scale\":0,\"value\":\"EQ==\"},\"label\":\"EQ==\"}")
        let decoder = try decoder("WorkOrder") {
            var part = RouteConfiguration(entity: "Part")
            (part.identity, part.ignore) = (.field("no"), ["*"])
            ($0.also, $0.ignore) = ([part], ["*"])
        }
        let time = "2026-01-02T03:04:05.123456Z"
        #expect(
            try decoder.shown(record) == [
                "upsert Part 17 label=17", "upsert WorkOrder w1 version=\(time) updatedAt=\(time)",
            ])
    }

    @Test func `a decimal that would lose digits is no text of a template and no identity`() throws {
        let wide = "\"\(Base64Text.text([UInt8](repeating: 0x7F, count: 17)))\""
        let record = wrapped(
            [
                Records.field("id", "bytes", Self.decimal, scale: 2),
                Records.field("cost", "bytes", Self.decimal, scale: 2),
            ],
            "{\"id\":\(wide),\"cost\":\(wide)}")
        for (identity, fields) in [("id", [:]), ("$record.id", [:]), ("{$topic}", ["name": "{cost} EUR"])] {
            let decoder = try decoder("WorkOrder") {
                ($0.identity, $0.fields, $0.ignore) = (.field(identity), fields, ["*"])
            }
            #expect(decoder.failure(record) != nil, "\(identity)")
        }
        #expect(try decoder("WorkOrder") { $0.ignore = ["*"] }.failure(record)?.code == "decode.identity")
    }
}
