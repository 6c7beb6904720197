import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Several objects from one record.
@Suite struct RouteStructureTests {
    private func model() throws -> ObjectModel {
        try ObjectModel.parse(
            """
            model: tracker
            version: 1
            entities:
              Issue:
                identity: id
                attributes: { id: { type: string }, title: { type: string, optional: true } }
                relationships:
                  labels: { to: Label, many: true, inverse: issues, delete: nullify }
                  author: { to: User, inverse: issues, delete: nullify, optional: true }
                  comments: { to: Comment, many: true, inverse: issue, delete: cascade }
              Label:
                identity: name
                attributes: { name: { type: string }, color: { type: string, optional: true } }
                relationships: { issues: { to: Issue, many: true, inverse: labels, delete: nullify } }
              User:
                identity: login
                attributes: { login: { type: string }, mail: { type: string, optional: true } }
                relationships: { issues: { to: Issue, many: true, inverse: author, delete: nullify } }
              Comment:
                identity: id
                attributes:
                  id: { type: string }
                  text: { type: string, optional: true }
                  count: { type: integer64, optional: true }
                relationships: { issue: { to: Issue, inverse: comments, delete: nullify, optional: true } }
            """)
    }

    private func decoder(
        elements: Int = 100_000, _ change: (inout RouteConfiguration) -> Void
    ) throws -> TestDecoder {
        var route = RouteConfiguration(entity: "Issue")
        change(&route)
        var limits = LimitConfiguration()
        limits.maxElements = elements
        return try TestDecoder(model(), format: .json, routes: [route], limits: limits)
    }

    private func split(
        _ field: String, _ entity: String, parent: String = "", _ change: (inout SplitConfiguration) -> Void = { _ in }
    ) -> SplitConfiguration {
        var split = SplitConfiguration(field: field, entity: entity, parent: parent)
        change(&split)
        return split
    }

    @Test func `nested objects and arrays have routes of their own`() throws {
        let decoder = try decoder {
            $0.splits = [
                split("user", "User") {
                    ($0.relationship, $0.aliases, $0.ignore) = ("author", ["email": "mail"], ["*"])
                },
                split("tags", "Label") {
                    ($0.relationship, $0.replaces, $0.identity) = ("labels", true, .field("{$parent}/{tag}"))
                },
            ]
        }
        #expect(
            try decoder.shown(
                """
                {"id":"i1","title":"T","user":{"login":"a","email":"m","x":1},"tags":[{"tag":"t","color":"c"}]}
                """) == [
                    "upsert User a mail=m", "upsert Label i1/t color=c",
                    "upsert Issue i1 title=T author=a labels=[i1/t]",
                ])
        #expect(try decoder.shown("{\"id\":\"i1\",\"user\":null}") == ["upsert Issue i1 author=null"])
        #expect(decoder.failure("{\"id\":\"i1\",\"user\":7}")?.code == "decode.relationship")
    }

    @Test func `the parent of a split may be a relationship to many`() throws {
        let decoder = try decoder { $0.splits = [split("tags", "Label", parent: "issues")] }
        #expect(
            try decoder.shown("{\"id\":\"i1\",\"tags\":[{\"name\":\"t\"}]}") == [
                "upsert Label t", "upsert Issue i1 labels+[t]-[]",
            ])
    }

    @Test func `the members of a map are elements with a name`() throws {
        let decoder = try decoder {
            $0.splits = [
                split("votes", "Comment", parent: "issue") {
                    $0.isMap = true
                    ($0.identity, $0.fields) = (.field("{$parent}-{$name}"), ["count": "$value", "text": "$name"])
                }
            ]
        }
        #expect(
            try decoder.shown("{\"id\":\"i1\",\"votes\":{\"up\":3,\"down\":1}}") == [
                "upsert Comment i1-up count=3 text=up", "upsert Comment i1-down count=1 text=down",
                "upsert Issue i1 comments+[i1-up, i1-down]-[]",
            ])
        #expect(decoder.failure("{\"id\":\"i1\",\"votes\":[1]}")?.code == "decode.relationship")
    }

    @Test func `a split lies anywhere, holds splits and has a filter`() throws {
        var inner = split("tags", "Label", parent: "issues")
        inner.identity = .field("$value")
        let outer = split("all.issues", "Issue") {
            $0.filter = "open = true"; $0.ignore = ["open"]; $0.splits = [inner]
        }
        var route = RouteConfiguration(entity: "User")
        route.splits = [outer]
        route.splits[0].parent = "author"
        let decoder = try TestDecoder(model(), format: .json, routes: [route])
        #expect(
            try decoder.shown(
                """
                {"login":"a","all":{"issues":[{"id":"i1","open":true,"tags":["x","y"]},{"id":"i2","open":false}]}}
                """) == [
                    "upsert Label x", "upsert Label y", "upsert Issue i1 labels+[x, y]-[]",
                    "upsert User a issues+[i1]-[]",
                ])
    }

    @Test func `a split begins at the record, or in the data as it once did`() throws {
        for field in ["payload.tags", "tags"] {
            let decoder = try decoder { ($0.data, $0.splits) = ("payload", [split(field, "Label", parent: "issues")]) }
            #expect(
                try decoder.shown("{\"payload\":{\"id\":\"i1\",\"tags\":[{\"name\":\"t\"}]}}") == [
                    "upsert Label t", "upsert Issue i1 labels+[t]-[]",
                ])
        }
        let beside = try decoder { ($0.data, $0.splits) = ("payload", [split("tags", "Label", parent: "issues")]) }
        #expect(
            try beside.shown("{\"payload\":{\"id\":\"i1\"},\"tags\":[{\"name\":\"t\"}]}") == [
                "upsert Label t", "upsert Issue i1 labels+[t]-[]",
            ])
    }

    @Test func `further routes make further objects of a record`() throws {
        let decoder = try decoder {
            $0.data = "issue"
            var user = RouteConfiguration(entity: "User")
            (user.data, user.ignore) = ("sender", ["*"])
            var label = RouteConfiguration(entity: "Label")
            (label.data, label.condition) = ("label", "action = 'labeled'")
            $0.also = [user, label]
        }
        #expect(
            try decoder.shown(
                "{\"action\":\"labeled\",\"issue\":{\"id\":\"i1\"},\"sender\":{\"login\":\"a\"},\"label\":{\"name\":\"t\"}}"
            )
                == ["upsert User a", "upsert Label t", "upsert Issue i1"])
        #expect(try decoder.shown("{\"action\":\"opened\",\"issue\":{\"id\":\"i1\"}}") == ["upsert Issue i1"])
    }

    @Test func `a million elements are one dead letter`() throws {
        let decoder = try decoder { $0.splits = [split("tags", "Label", parent: "issues") { $0.identity = .row }] }
        let many = "{\"id\":\"i1\",\"tags\":[" + String(repeating: "{},", count: 999_999) + "{}]}"
        let failure = try #require(decoder.failure(many))
        #expect(failure.code == "decode.too_many" && failure.description.contains("1000000 objects"))
        let few = try self.decoder(elements: 2) { $0.splits = [split("tags", "Label", parent: "issues")] }
        #expect(try few.shown("{\"id\":\"i1\",\"tags\":[{\"name\":\"a\"},{\"name\":\"b\"}]}").count == 3)
        #expect(few.failure("{\"id\":\"i1\",\"tags\":[{},{},{}]}")?.code == "decode.too_many")
    }

    @Test func `a relationship of a split that leads elsewhere is refused`() throws {
        let error = try #require(
            caught(RouteError.self) {
                try decoder { $0.splits = [split("x", "User") { $0.relationship = "labels" }] }
            })
        #expect(error.description.contains("does not lead from Issue to User"))
    }

    // MARK: Conditions

    @Test(arguments: ["\"Issue Title\" = 'T'", "NOT 1 = 1", "'a' IN {'a', 'b'}", "title = 'T' AND 2 BETWEEN {1, 3}"])
    func `a comparison without a field is refused with the spelling of quoted keys`(condition: String) throws {
        let error = try #require(caught(RouteError.self) { try decoder { $0.filter = condition } })
        #expect(error.message.contains(#"quoted key: ."Order Id" = 5"#), "\(error.message)")
    }

    @Test(arguments: [
        #"."Issue Title" = "T""#, #"(."Issue Title"='T')"#, #"NOT ."Issue Title" != 'T'"#, #"'T' = ."Issue Title""#,
        #"."Issue Title" IN {'S', 'T'} AND ."all parts"."of it"[1] = 2"#,
    ])
    func `a condition begins a quoted key with a dot`(condition: String) throws {
        let decoder = try decoder { ($0.filter, $0.ignore) = (condition, ["*"]) }
        let record = #"{"id":"i1","Issue Title":"T","all parts":{"of it":[1,2]}}"#
        #expect(try decoder.shown(record) == ["upsert Issue i1"])
        #expect(try decoder.shown(record.replacing("\"T\"", with: "\"U\"")).isEmpty)
    }

    // MARK: Samples

    @Test func `a sample counts in how many records each part was found`() throws {
        var route = RouteConfiguration(entity: "Issue")
        (route.timeField, route.aliases, route.ignore) = ("updated.at", ["name": "title"], ["*"])
        route.splits = [split("tags", "Label", parent: "issues") { $0.aliases = ["colour": "color"] }]
        var configuration = WorkerConfiguration()
        configuration.topics = [TopicConfiguration(name: "t", format: .json, routes: [route])]
        let folder = TestFolder()
        let path = folder.write(
            "s.jsonl", "{\"id\":\"i1\",\"name\":\"N\",\"tags\":[{\"name\":\"t\"}]}\n{\"id\":\"i2\",\"name\":\"N\"}\n")
        let sample = RecordSample(configuration: configuration, model: try model())
        _ = try sample.read(path: path, topic: "t") { _, _ in }
        let report = try #require(sample.routes.first)
        #expect(report.records == 2)
        let counts = Dictionary(uniqueKeysWithValues: report.parts.map { ("\($0.name) \($0.value)", $0.records) })
        #expect(
            counts == [
                "timeField updated.at": 0, "alias name": 2, "split tags": 1, "split tags: alias colour": 0,
            ])
        #expect(report.text(number: 1).contains("  timeField  updated.at  in no record"))
        #expect(report.json(number: 1).contains("{\"name\":\"timeField\",\"value\":\"updated.at\",\"records\":0}"))
    }

    @Test func `an outcome that is not the recorded one is a difference`() throws {
        var expectation = try SampleExpectation("{\"a\": 1}\n{\"a\":2}\n{\"a\":3}\n")
        expectation.compare("{\"a\":1}")
        expectation.compare("{\"a\":5}")
        expectation.finish()
        #expect(expectation.differences.map(\.line) == [2, 3])
        #expect(expectation.differences.last?.found == nil)
    }

    // MARK: Complete lists, and arrays of records

    @Test func `a list that is complete deletes the elements that it has lost`() throws {
        let decoder = try decoder {
            $0.splits = [
                split("comments", "Comment", parent: "issue") {
                    $0.replaces = true
                    $0.deletesLost = true
                }
            ]
        }
        let store = try Store.inMemory(model: decoder.model)
        let writer = try WriterContext(store: store)
        let lists = [
            #"{"id":"i","comments":[{"id":"a"},{"id":"b"}]}"#, #"{"id":"j","comments":[{"id":"c"}]}"#,
            #"{"id":"i","comments":[{"id":"b"},{"id":"d"}]}"#,
        ]
        for list in lists {
            _ = try writer.apply(WriterContext.Chunk(events: [decoder.event(TestRecord(list))])).check()
            try writer.commit()
        }
        let comments = try store.read { try $0.fetch(FetchRequest("Comment")) }
        #expect(comments.compactMap { $0["id"]?.text }.sorted() == ["b", "c", "d"])
    }

    @Test func `only a list of its own can lose elements`() throws {
        #expect(throws: RouteError.self) {
            try decoder {
                $0.splits = [
                    split("user", "User") {
                        $0.relationship = "author"
                        $0.replaces = true
                        $0.deletesLost = true
                    }
                ]
            }
        }
    }

    @Test func `each element of an array is a record`() throws {
        var pages = RouteConfiguration(entity: "")
        pages.each = "page.member"
        let decoder = try TestDecoder(
            model(), format: .json, routes: [pages, RouteConfiguration(entity: "Issue")])
        #expect(
            try decoder.shown(#"{"page":{"member":[{"id":"a"},{"id":"b"}]}}"#)
                == ["upsert Issue a", "upsert Issue b"])
        #expect(try decoder.shown(#"{"id":"c"}"#) == ["upsert Issue c"], "other records have the other routes")
        #expect(try decoder.shown(#"{"page":{"member":[]}}"#).isEmpty)
    }

    // MARK: Given properties and faults

    @Test func `a property that fields give needs no ignore for the record's field of its name`() throws {
        let decoder = try decoder {
            $0.fields = ["title": "issue.status.name"]
            $0.types = ["title": .number]
        }
        #expect(
            try decoder.shown(#"{"id":"i","title":["own"],"issue":{"status":{"name":7}}}"#) == [
                "upsert Issue i title=7"
            ])
    }

    @Test func `one error names all fields that do not fit`() throws {
        let decoder = try TestDecoder(model(), format: .json, routes: [RouteConfiguration(entity: "Comment")])
        let failure = try #require(decoder.failure(#"{"id":"c","text":1,"count":"x","extra":2}"#))
        #expect(failure.code == "decode.type")
        for name in ["Comment.text", "Comment.count", "'extra'"] { #expect(failure.message.contains(name)) }
    }
}
