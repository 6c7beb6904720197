import Foundation
import ObjectGraph
import Testing

@testable import Inference
@testable import IngestCore
@testable import RecordDecoding

/// Models that `init` infers from tables as databases, spreadsheets and public data sets have them.
@Suite struct TableInferenceTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "tables-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private struct Outcome {
        let model: InferredModel
        let configuration: String
        /// The operations as `check --sample` prints them.
        let lines: [String]
        let counts: RecordSample.Counts
        let losses: [ObjectCount.Loss]

        func entity(_ name: String) throws -> InferredModel.Entity {
            try #require(model.entities.first { $0.name == name }, "\(model.entities.map(\.name))")
        }

        /// The references of an entity: column, and entity of the destination.
        func references(_ name: String) throws -> [String: String] {
            let found = try entity(name).relationships.compactMap { relationship in
                relationship.column.map { ($0, relationship.destination) }
            }
            return Dictionary(found) { first, _ in first }
        }
    }

    /// Infers from files, and reads them by the files that are written, as `init` does.
    private func infer(
        _ files: KeyValuePairs<String, String>, zone: String? = nil, isEachRecord: Bool = false
    ) throws -> Outcome {
        var paths: [String] = []
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
            paths.append(file.path)
        }
        let profiles = try FileGroup.groups(of: paths).flatMap {
            try FileSurvey.read($0, recordLimit: nil, distinctLimit: 1000)
        }
        let inferred = InferredModel(profiles, zone: zone, isEachRecord: isEachRecord)
        let modelPath = folder.appending(path: "model.yaml").path
        let modelText = ModelWriter.text(inferred, name: "tables")
        try modelText.write(toFile: modelPath, atomically: true, encoding: .utf8)
        let yaml = ConfigurationWriter.text(inferred, modelPath: modelPath, storePath: "s.sqlite")
        let configuration = try WorkerConfiguration.load(yaml: yaml, name: "worker.yaml").configuration
        let model = try ObjectModel.load(path: modelPath)
        let sample = RecordSample(configuration: configuration, model: model)
        var objects = ObjectCount(inferred, model)
        var lines: [String] = []
        var counts = RecordSample.Counts()
        for path in paths {
            let found = try sample.read(path: path, topic: nil) { place, outcome in
                if case .event(let event) = outcome { objects.add(event) }
                lines.append(sample.text(place, outcome))
            }
            counts.events += found.events
            counts.filtered += found.filtered
            counts.deadLetters += found.deadLetters
        }
        return Outcome(
            model: inferred, configuration: yaml, lines: lines, counts: counts, losses: objects.losses)
    }

    // MARK: Local times

    @Test func `times without an offset are dates in one form and one zone of the file`() throws {
        let outcome = try infer([
            "rental.csv": """
            rental_id,rented,returned,last_update
            1,2005-05-24 22:53:30,2005-05-26 22:04,2006-02-15 21:30:53.62
            2,2005-05-24 22:54:33,,2006-02-15

            """
        ])
        #expect(outcome.counts == .init(events: 2, filtered: 0, deadLetters: 0))
        #expect(
            outcome.configuration.contains("dates: \"yyyy-MM-dd[ HH:mm[:ss[.SSS]]]\"")
                || outcome.configuration.contains("dates: yyyy-MM-dd[ HH:mm[:ss[.SSS]]]"))
        #expect(!outcome.configuration.contains("types:"))
        #expect(outcome.lines[0].contains(#"returned="2005-05-26T22:04:00Z""#))
        #expect(outcome.lines[0].contains(#"last_update="2006-02-15T21:30:53.62"#))
        #expect(outcome.lines[1].contains(#"last_update="2006-02-15T00:00:00Z""#))
        #expect(outcome.model.warnings.filter { $0.contains("--zone") }.count == 1, "said once for the file")
    }

    @Test func `a stated zone makes the instants, and nothing is asked`() throws {
        let text =
            "id,at,day\n1,2024-07-02T03:04:05,\n2,2024-01-02 03:04:05,\n3,2024-01-02T03:04:05+00:00,2.1.2024 3:04\n"
        let outcome = try infer(["visits.csv": text], zone: "Europe/Berlin")
        #expect(outcome.lines[0].contains(#"at="2024-07-02T01:04:05Z""#), "\(outcome.lines)")
        #expect(outcome.lines[1].contains(#"at="2024-01-02T02:04:05Z""#))
        #expect(outcome.lines[2].contains(#"at="2024-01-02T03:04:05Z""#), "an offset counts")
        #expect(outcome.lines[2].contains(#"day="2024-01-02T02:04:00Z""#), "forms have the zone, too")
        #expect(!outcome.model.warnings.contains { $0.contains("--zone") })
    }

    @Test func `local times in nested objects of JSON are dates, too`() throws {
        let outcome = try infer([
            "orders.jsonl": #"{"id":1,"lines":[{"sku":"a","packed":"2024-01-02 03:04:05.5"}]}"# + "\n"
        ])
        #expect(outcome.lines.joined().contains(#"packed="2024-01-02T03:04:05.5"#), "\(outcome.lines)")
    }

    @Test func `clocks of twelve hours are read`() throws {
        let text = "id,at\n1,4/15/2023 3:04:05 PM\n2,4/16/2023 12:04 AM\n3,4/17/2023\n"
        let outcome = try infer(["visits.csv": text])
        #expect(outcome.lines[0].contains(#"at="2023-04-15T15:04:05Z""#), "\(outcome.lines)")
        #expect(outcome.lines[1].contains(#"at="2023-04-16T00:04:00Z""#))
        #expect(outcome.lines[2].contains(#"at="2023-04-17T00:00:00Z""#))
    }

    // MARK: Exports of databases

    @Test func `an export of PostgreSQL has letters for truth values, and one of MySQL marks for null`() throws {
        let outcome = try infer([
            "staff.csv": "id,active,code,since\n1,t,f,2006-02-14 22:04:36.62\n2,f,f,\\N\n3,t,f,0000-00-00 00:00:00\n"
        ])
        let staff = try outcome.entity("Staff")
        #expect(staff.attributes.map(\.guess.type) == [.integer64, .boolean, .string, .date])
        #expect(outcome.lines[1].contains("active=false") && outcome.lines[1].contains("since=null"))
        #expect(outcome.lines[2].contains("active=true") && outcome.lines[2].contains("since=null"))
    }

    // MARK: Identities

    @Test(arguments: ["sequence", "line_no", "position", "stop_sequence", "seq", "orderIndex"])
    func `a place in an order is part of the identity, and no version`(column: String) throws {
        let outcome = try infer([
            "invoice.csv": "invoice_id,\(column),sku,qty\nA,1,x,1\nA,2,y,1\nB,1,x,2\nB,2,z,1\n"
        ])
        let entity = try outcome.entity("Invoice")
        #expect(entity.identityExpression == "{invoice_id}-{\(column)}")
        #expect(entity.version == nil)
        #expect(outcome.losses.isEmpty)
        #expect(!outcome.model.warnings.contains { $0.contains("are these versions") })
    }

    @Test func `all points of a shape are objects`() throws {
        let rows = (0..<60).map { "s\($0 / 30),\(51 + Double($0) / 64),\(7 - Double($0) / 64),\($0 % 30)\n" }
        let text = "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\n" + rows.joined()
        let outcome = try infer(["shapes.txt": text])
        #expect(try outcome.entity("Shape").identityExpression == "{shape_id}-{shape_pt_sequence}")
        #expect(outcome.counts.events == 60)
        #expect(outcome.losses.isEmpty)
    }

    @Test func `an id whose records have nothing in common is no identity of versions`() throws {
        let rows = (0..<6).map { "s\($0 % 2),2026-01-01T00:00:0\($0)Z,\($0),\($0 * 7)\n" }
        let outcome = try infer(["things.csv": "id,updated_at,price,stock\n" + rows.joined()])
        #expect(try outcome.entity("Thing").identity == "row")
        #expect(outcome.model.warnings.contains { $0.contains("are these versions of one object?") })
    }

    @Test func `records that become fewer objects are counted, and each record is an object on demand`() throws {
        let text = "id,name,updated_at\n1,a,2026-01-01\n2,b,2026-01-01\n1,a,2026-01-02\n"
        let outcome = try infer(["things.csv": text])
        let loss = try #require(outcome.losses.first)
        #expect((loss.entity, loss.identity, loss.records, loss.objects) == ("Thing", "id", 3, 2))
        let whole = try infer(["things.csv": text], isEachRecord: true)
        #expect(try whole.entity("Thing").identity == "row")
        #expect(whole.losses.isEmpty)
    }

    @Test func `columns that are unique by coincidence do not identify`() throws {
        let names = (0..<30).map { "n\($0 * 7 % 30),f\($0 * 11 % 29),\($0 % 4)\n" }
        let outcome = try infer(["actors.csv": "first_name,last_name,films\n" + names.joined()])
        #expect(try outcome.entity("Actor").identity == "row")
    }

    // MARK: References

    @Test func `the entity that a column names wins over the first that has its values`() throws {
        let outcome = try infer([
            "realtime_routes.txt": "route_id,live\nr1,1\nr2,1\nr3,1\n",
            "routes.txt": "route_id,color\nr1,red\nr2,red\nr3,blue\n",
            "trips.txt": "route_id,trip_id\nr1,t1\nr2,t2\nr1,t3\n",
        ])
        #expect(try outcome.references("Trip")["route_id"] == "Route")
        #expect(try outcome.references("RealtimeRoute")["route_id"] == "Route")
        #expect(try outcome.references("Route").isEmpty, "the reference leads one way")
    }

    @Test func `a column that identifies keeps its reference`() throws {
        let outcome = try infer([
            "film.csv": "film_id,title,original_language_id\n1,A,1\n2,B,1\n3,C,2\n",
            "language.csv": "language_id,name\n1,English\n2,French\n",
            "category.csv": "category_id,name\n6,Action\n7,Drama\n",
            "film_category.csv": "film_id,category_id\n1,6\n2,6\n3,7\n",
        ])
        #expect(try outcome.entity("FilmCategory").identity == "film_id")
        #expect(try outcome.references("FilmCategory") == ["film_id": "Film", "category_id": "Category"])
        #expect(try outcome.references("Film") == ["original_language_id": "Language"])
        #expect(outcome.lines.contains { $0.contains("FilmCategory 2") && $0.contains("film=2") })
        #expect(outcome.counts.deadLetters == 0)
    }

    @Test func `names of roles refer to the same table and to people`() throws {
        let outcome = try infer([
            "Album.csv": "AlbumId,Title\n1,x\n2,y\n3,z\n",
            "Employee.csv": "EmployeeId,LastName,ReportsTo\n1,Adams,\n2,Edwards,1\n3,Peacock,2\n",
            "Customer.csv": "CustomerId,City,SupportRepId\n1,Bern,3\n2,Bern,3\n",
        ])
        #expect(try outcome.references("Employee") == ["ReportsTo": "Employee"])
        #expect(try outcome.references("Customer") == ["SupportRepId": "Employee"])
    }

    // MARK: Parts of a table

    @Test func `files that differ in numbers are parts of one table`() throws {
        let outcome = try infer([
            "orders-2024-01.csv": "id,total\n1,2.50\n2,3.50\n", "orders-2024-02.csv": "id,total\n3,4.50\n",
            "customers.csv": "id,name\n1,Ada\n2,Ben\n",
        ])
        #expect(outcome.model.entities.map(\.name) == ["Order", "Customer"])
        #expect(
            outcome.configuration.contains("match: \"orders-*.csv\"")
                || outcome.configuration.contains("match: orders-*.csv"))
        #expect(outcome.counts == .init(events: 5, filtered: 0, deadLetters: 0))
        #expect(outcome.losses.isEmpty)
    }

    @Test func `rows of parts without an identity are told apart by their files`() throws {
        let outcome = try infer([
            "log-1.csv": "text,n\na,1\na,1\n", "log-2.csv": "text,n\na,1\n",
            "north/stops.csv": "text,n\na,1\na,1\n", "south/stops.csv": "text,n,zone\na,1,x\na,1,x\n",
        ])
        #expect(outcome.model.entities.map(\.name) == ["Log", "Stop"])
        #expect(outcome.losses.isEmpty, "\(outcome.lines)")
        #expect(outcome.counts.events == 7)
    }

    @Test func `one name for two tables is refused`() throws {
        let error = #expect(throws: InferenceError.self) {
            try infer(["north/t.csv": "a,b,c\n1,2,3\n", "south/t.csv": "x,y,z\n1,2,3\n"])
        }
        #expect(error?.code == "init.name")
    }

    // MARK: Spreadsheets

    @Test func `empty rows and columns of a spreadsheet are passed over and counted`() throws {
        let outcome = try infer(["list.csv": "id;name;;\n1;Ada;;\n;;;\n2;Ben;;\n;;;\n"])
        #expect(outcome.counts == .init(events: 2, filtered: 2, deadLetters: 0))
        #expect(try outcome.entity("List").profile.emptyCount == 2)
        #expect(try outcome.entity("List").attributes.map(\.name) == ["id", "name"])
        #expect(outcome.lines[1].contains("filtered  empty"))
    }

    @Test func `NA is missing among numbers, and a value among codes of the same file`() throws {
        let outcome = try infer([
            "countries.csv": "code,capital,people\nNA,Windhoek,3\nDE,Berlin,NA\nCH,NA,9\nFR,Paris,68\n",
            "uses.csv": "id,country_code\n1,NA\n2,DE\n3,FR\n",
        ])
        #expect(outcome.lines[0].contains("Country NA") && outcome.lines[0].contains("people=3"), "\(outcome.lines)")
        #expect(outcome.lines[1].contains("people=null"))
        #expect(outcome.lines[2].contains("capital=null"), "the file says that NA is missing")
        #expect(outcome.lines[4].contains(#"country_code="NA""#) || outcome.lines[4].contains(#"country="NA""#))
        let notes = outcome.model.warnings.filter { $0.contains("'NA' (1)") }
        #expect(notes.contains { $0.contains("Country.people") && $0.contains("missing") })
        #expect(notes.contains { $0.contains("Country.code") && $0.contains("kept") })
    }

    // MARK: Names and delimiters

    @Test(arguments: [
        ("movies", "Movie"), ("addresses", "Address"), ("statuses", "Status"), ("status", "Status"),
        ("classes", "Class"), ("boxes", "Box"), ("categories", "Category"), ("houses", "House"), ("series", "Series"),
        ("buses", "Bus"), ("branches", "Branch"), ("work_orders", "WorkOrder"), ("größen", "Größen"),
    ]) func `an entity's name is a singular that finds its table`(table: String, entity: String) {
        #expect(InferredNames.entity(table) == entity)
        #expect(ColumnNames.folded(table: table).contains(EventType.folded(entity)))
    }

    @Test func `letters beyond ASCII stay, and a column without a name has that of its place`() throws {
        let outcome = try infer(["liste.csv": ",größe,Straße Nr\n1,2,3\n2,3,4\n"])
        #expect(try outcome.entity("Liste").attributes.map(\.name) == ["column1", "größe", "straßeNr"])
        #expect(outcome.counts.events == 2)
    }

    @Test(arguments: ["\t", "|", ";", ","])
    func `the delimiter of a text file is seen in its header`(delimiter: String) throws {
        let text = "id,name\n1,Ada\n2,Ben\n".replacing(",", with: delimiter)
        let outcome = try infer(["people.txt": text])
        #expect(outcome.model.entities[0].attributes.map(\.name) == ["id", "name"])
    }
}
