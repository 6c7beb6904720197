import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import Inference
@testable import IngestCore

/// What columns and files suggest.
@Suite struct InferenceTests {
    private static func profile(_ values: [String], name: String = "value") -> ColumnProfile {
        var profile = ColumnProfile(name: name)
        for value in values { profile.add(value, ValueShape(text: value)) }
        return profile
    }

    private static func type(_ values: [String], name: String = "value") -> AttributeType {
        ColumnGuess(profile(values, name: name)).type
    }

    private static func table(_ path: String, _ columns: [(String, [String])]) -> EntityProfile {
        var profile = EntityProfile(path: path, isTable: true)
        for (name, values) in columns {
            profile.column(name)
            profile.recordCount = values.count
            for value in values { profile.add(value, ValueShape(text: value), to: name) }
        }
        return profile
    }

    @Test(arguments: [
        ("", ValueShape.empty), ("NA", .nullMarker), ("12", .integer), ("-3", .integer), ("007", .text),
        ("0.5", .fraction), ("1e5", .exponent), ("true", .boolean), ("No", .boolean), ("2026-01-02", .date),
        ("2026-01-02T03:04:05Z", .date), ("2026-01-02 03:04:05", .localDate), ("31.12.2025", .foreignDate),
        ("12/31/2025", .foreignDate), ("1.2.3.4", .text), ("99999999999999999999x", .text),
        ("6f1c2a3e-0b1d-4c5e-8f90-123456789abc", .uuid), ("EX-204", .text),
    ]) func `a text has the form that it is written in`(text: String, shape: ValueShape) {
        #expect(ValueShape(text: text) == shape)
    }

    @Test func `a column has the type that all its values have`() {
        #expect(Self.type(["1", "2", ""]) == .integer64)
        #expect(Self.type(["1", "2.125"]) == .double)
        #expect(Self.type(["1.5", "2"], name: "Cost") == .decimal)
        #expect(Self.type(["1.50", "2.25"]) == .decimal)
        #expect(Self.type(["1", "x"]) == .string)
        #expect(Self.type(["2026-01-02", "2026-01-03"]) == .date)
        #expect(Self.type(["yes", "no"]) == .boolean)
        #expect(Self.type(["1", "18446744073709551616"]) == .decimal)
        #expect(Self.type([]) == .string)
    }

    @Test func `null markers are missing values, and the warning names them`() throws {
        let guess = ColumnGuess(Self.profile(["1", "NA", "2"]))
        #expect(guess.type == .integer64)
        #expect(try #require(guess.warning).contains("'NA'"))
    }

    @Test func `whole numbers are instants only where the name speaks of time`() {
        let seconds = ["1704200000", "1704200001"]
        #expect(ColumnGuess(Self.profile(seconds, name: "createdAt")).form == "seconds")
        #expect(ColumnGuess(Self.profile(["1704200000123"], name: "timestamp")).form == "milliseconds")
        #expect(Self.type(seconds, name: "population") == .integer64)
    }

    @Test func `few values that come often are an enumeration`() {
        let values = (0..<30).map { ["open", "done", "waiting"][$0 % 3] }
        #expect(Self.profile(values).enumeration == ["done", "open", "waiting"])
        #expect(Self.profile((0..<30).map { "text \($0)" }).enumeration == nil)
    }

    private static func composite(_ columns: [(String, [String])], limit: Int = 1000) -> CompositeIdentity? {
        var finder = CompositeFinder(table("t.csv", columns), distinctLimit: limit)
        let values = finder.names.compactMap { name in columns.first { $0.0 == name }?.1 }
        for row in columns[0].1.indices { finder.add(values.map { $0[row] }) }
        return finder.result
    }

    @Test func `columns that identify together are found by their names, or by many values`() {
        let site = ("siteid", ["a", "a", "b", "b"])
        let number = ("wonum", ["1", "2", "1", "2"])
        #expect(Self.composite([site, number])?.template == "{siteid}-{wonum}")
        #expect(Self.composite([("x", site.1), ("y", number.1)]) == nil, "four rows are unique by chance")
        #expect(Self.composite([site, ("wonum", ["1", "1", "2", "2"])]) == nil)
        #expect(Self.composite([("id", ["1", "2", "3", "4"]), site, number]) == nil, "one column is enough")
        let hours = ("at", (0..<40).map { "h\($0 % 10)" })
        let places = ("place", (0..<40).map { "p-\($0 / 10)" })
        #expect(Self.composite([hours, places])?.template == "{at}/{place}")
        #expect(Self.composite([hours, places], limit: 10)?.isCertain == false)
        let half = ("half", (0..<40).map { "\($0 / 20)" })
        let tens = ("tens", (0..<40).map { "\($0 / 10 % 2)" })
        #expect(Self.composite([hours, half, tens]) == nil, "three columns are unique by chance")
        let keys = [("lineId", hours.1), ("siteId", half.1), ("stepNo", tens.1)]
        #expect(Self.composite(keys)?.template == "{lineId}-{siteId}-{stepNo}")
    }

    @Test func `the memory of a column is bounded`() {
        var profile = ColumnProfile(name: "n", distinctLimit: 10)
        for number in 0..<100 { profile.add("\(number)", .integer) }
        #expect(profile.distinct.hashes.count == 10)
        #expect(profile.distinct.isBeyondLimit)
        #expect(profile.examples.count <= ColumnProfile.exampleLimit)
        #expect(profile.integerRange == 0...99)
    }

    @Test(arguments: [
        ("work-orders", "WorkOrder"), ("categories", "Category"), ("airlines", "Airline"),
        ("2024 sales", "Record2024Sale"),
        ("status", "Status"), ("weather", "Weather"),
    ]) func `a file's name makes an entity's`(file: String, entity: String) {
        #expect(InferredNames.entity(file) == entity)
    }

    @Test func `a column's name makes a property's`() {
        #expect(InferredNames.property("Short text") == "shortText")
        #expect(InferredNames.property("bill_length_mm") == "bill_length_mm")
        #expect(InferredNames.property("%%", number: 3) == "column3")
        #expect(InferredNames.reference("asset_id", number: 1) == "asset")
        #expect(InferredNames.plural("Category") == "categories")
    }

    @Test func `a column whose values are another entity's identities is a reference`() throws {
        let model = InferredModel([
            Self.table(
                "airlines.csv", [("carrier", ["AA", "UA", "B6"]), ("name", ["American", "United", "JetBlue"])]),
            Self.table("flights.csv", [("number", ["1", "1", "2", "2"]), ("carrier", ["AA", "UA", "AA", "ZZ"])]),
        ])
        #expect(model.entities.map(\.name) == ["Airline", "Flight"])
        #expect(model.entities[0].identity == "carrier")
        #expect(model.entities[1].identity == "row")
        let reference = try #require(model.references.first)
        #expect((reference.resolved, reference.total) == (2, 3))
        #expect(model.entities[1].relationships.map(\.name) == ["carrier"])
        #expect(model.entities[0].relationships.map(\.name) == ["flights"])
        #expect(model.warnings.contains { $0.contains("placeholder") })
    }

    @Test func `numbers that happen to be identities elsewhere are no references`() {
        let model = InferredModel([
            Self.table("shops.csv", [("id", ["1", "2", "3"])]),
            Self.table(
                "sales.csv", [("id", ["1", "2", "3"]), ("month", ["1", "2", "2"]), ("shop_id", ["3", "1", "1"])]),
        ])
        #expect(model.references.map(\.column) == [2])
    }

    @Test func `inferred files load, whatever the columns are called`() throws {
        let model = InferredModel([
            Self.table(
                "odd names.csv",
                [
                    ("column1", ["1", "2"]), ("yes", ["a", "b"]), ("Yes", ["x", "x"]), ("a: \"b\"\n#", ["1", ""]),
                    ("pk", ["1", "1"]),
                ]
            )
        ])
        let text = ModelWriter.text(model, name: "odd")
        let file = FileManager.default.temporaryDirectory.appending(path: "odd-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try text.write(to: file, atomically: true, encoding: .utf8)
        let loaded = try ObjectModel.load(path: file.path)
        #expect(loaded.entities.map(\.name) == ["OddName"])
        let configuration = ConfigurationWriter.text(model, modelPath: "m.yaml", storePath: "s.sqlite")
        let read = try WorkerConfiguration.load(yaml: configuration, name: "worker.yaml").configuration
        #expect(read.files.map(\.match) == ["odd names.csv"])
        let decoder = try read.decoder(of: read.files.first, place: "odd names.csv", model: loaded)
        _ = try decoder.rowDecoder(columns: ["column1", "yes", "Yes", "a: \"b\"\n#", "pk"], path: "odd names.csv")
    }
}
