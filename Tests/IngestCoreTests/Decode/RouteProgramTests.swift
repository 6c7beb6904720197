import Foundation
import KafkaClient
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct RouteProgramTests {
    private func decoder(
        _ program: String, _ change: (inout LimitConfiguration) -> Void = { _ in }
    ) throws -> TestDecoder {
        var limits = LimitConfiguration()
        change(&limits)
        var route = RouteConfiguration(entity: "")
        route.program = RouteProgram(program)
        return try TestDecoder(TestModels.kinds(), format: .json, routes: [route], limits: limits)
    }

    // MARK: Events

    @Test func `a record becomes as many events as the program makes`() throws {
        let decoder = try decoder(
            """
            # Each line is a part.
            {type: "workOrder.upserted", time: .at, data: {id, name}},
            (.lines[] | {type: "part.upserted", data: {number: .no, label: (.label // "none")}})
            """)
        #expect(
            try decoder.shown(
                "{\"id\":\"w1\",\"name\":\"N\",\"at\":\"2026-01-02\",\"lines\":[{\"no\":1},{\"no\":2,\"label\":\"x\"}]}"
            )
                == [
                    "upsert WorkOrder w1 version=2026-01-02T00:00:00Z name=N", "upsert Part 1 label=none",
                    "upsert Part 2 label=x",
                ])
        #expect(try decoder.shown("{\"id\":\"w2\",\"lines\":[]}") == ["upsert WorkOrder w2 name=null"])
    }

    @Test func `no event is a record that is passed over`() throws {
        let decoder = try decoder("select(.live) | {type: \"part.upserted\", data: {number: .n}}")
        #expect(try decoder.shown("{\"live\":false,\"n\":1}").isEmpty)
        #expect(decoder.decoder.skipReason == .filter)
        #expect(try decoder.shown("{\"live\":true,\"n\":1}") == ["upsert Part 1"])
        #expect(decoder.decoder.skipReason == nil)
    }

    @Test func `a header that is not UTF-8 is null for a program, and a dead letter for one that names it`() throws {
        var record = TestRecord("{}")
        record.headers = [RecordHeader("tenant", [0xFF, 1])]
        let event = "{type: \"workOrder.upserted\", data: {id: \"w1\", name: $headers."
        #expect(try decoder(event + "other}}").shown(record) == ["upsert WorkOrder w1 name=null"])
        #expect(try decoder(event + "tenant}}").failure(record)?.code == "decode.type")
    }

    @Test func `the program knows key, headers, topic and timestamp`() throws {
        let decoder = try decoder(
            "{type: \"workOrder.upserted\", data: {id: $key, name: ([$headers.tenant, $headers.none, $topic, $timestamp]|tojson)}}"
        )
        var record = TestRecord("{}", key: "k\"1", headers: ["tenant": "a", "tenant": "b", "none": nil])
        record.topic = "orders"
        #expect(
            try record.deliver { record in
                var record = record
                record.timestampMilliseconds = 1_767_323_045_678
                return decoder.model.shown(try decoder.decoder.decode(record))
            } == ["upsert WorkOrder k\"1 name=[\"b\",null,\"orders\",\"2026-01-02T03:04:05.678Z\"]"])
        #expect(decoder.failure(TestRecord("{}"))?.code == "decode.identity")
    }

    @Test func `the program knows where the record stands`() throws {
        let decoder = try decoder(
            "{type: \"workOrder.upserted\", data: {id: \"w\", name: ([$row, $offset, $file, $folder]|tojson)}}")
        var record = TestRecord("{}")
        record.topic = "orders"
        #expect(try decoder.shown(record) == ["upsert WorkOrder w name=[1,0,null,null]"])
        record.topic = "file:/data/north/orders.jsonl"
        #expect(try decoder.shown(record) == ["upsert WorkOrder w name=[1,null,\"orders.jsonl\",\"north\"]"])
    }

    @Test func `types and a zone beside a program are for the values of its events`() throws {
        var route = RouteConfiguration(entity: "")
        route.program = RouteProgram("{type: \"workOrder.upserted\", data: .}")
        route.typePatterns = ["happenedAt": "dd.MM.yyyy[ HH:mm]"]
        route.types = ["name": .number]
        route.zone = "Europe/Berlin"
        let decoder = try TestDecoder(TestModels.kinds(), format: .json, routes: [route])
        #expect(
            try decoder.shown(#"{"id":"w","happenedAt":"2.1.2026 03:04","name":7}"#)
                == ["upsert WorkOrder w happenedAt=2026-01-02T02:04:00Z name=7"])
        route.types = ["nmae": .number]
        #expect(throws: RouteError.self) { try TestDecoder(TestModels.kinds(), format: .json, routes: [route]) }
    }

    @Test func `a program that reads offsets with strptime is noted, for jq forgets them`() throws {
        #expect(try JQTokenizer(".at | strptime(\"%Y-%m-%dT%H:%M:%S%z\") | mktime").dropsOffsets)
        #expect(try !JQTokenizer(".at | strptime(\"%Y-%m-%dT%H:%M:%SZ\") | mktime").dropsOffsets)
        #expect(try !JQTokenizer("\"%z\"").dropsOffsets)
    }

    @Test func `a key that is no text is null for the program`() throws {
        let decoder = try decoder("{type: \"workOrder.upserted\", data: {id: .id, name: $key}}")
        var record = TestRecord("{\"id\":\"w1\"}")
        record.key = [0xFF, 0xFE, 0, 7]
        #expect(try decoder.shown(record) == ["upsert WorkOrder w1 name=null"])
    }

    @Test func `a record without a value is null for the program`() throws {
        let decoder = try decoder(
            "if . == null then {type: \"workOrder.deleted\", subject: $key} else {type: \"workOrder.upserted\", data: .} end"
        )
        #expect(try decoder.shown(TestRecord(nil, key: "w1")) == ["delete WorkOrder w1"])
        #expect(try decoder.shown("{\"id\":\"w1\"}") == ["upsert WorkOrder w1"])
    }

    @Test func `whole numbers keep their digits`() throws {
        let decoder = try decoder(
            """
            {type: "workOrder.upserted", data: {id: .id, large: .large, medium: .medium, price: .price, extra: .extra}},
            {type: "part.upserted", data: {number: .large, order: .id}}
            """)
        #expect(
            try decoder.shown(
                "{\"id\":9007199254740993,\"large\":9223372036854775807,\"medium\":-7,\"price\":18446744073709551615,\"extra\":9007199254740992}"
            ) == [
                "upsert WorkOrder 9007199254740993 large=9223372036854775807 medium=-7 price=18446744073709551615 "
                    + "extra=9007199254740992",
                "upsert Part 9223372036854775807 order=9007199254740993",
            ])
        #expect(
            try decoder.shown("{\"id\":\"w\",\"large\":-9223372036854775808,\"medium\":1,\"price\":0.1}") == [
                "upsert WorkOrder w large=-9223372036854775808 medium=1 price=0.1 extra=null",
                "upsert Part -9223372036854775808 order=w",
            ])
        #expect(decoder.failure("{\"id\":\"w\",\"large\":\"many\"}")?.code == "decode.type")
    }

    @Test func `decimals that a double does not hold reach programs as texts`() throws {
        let decoder = try decoder(
            "{type: \"workOrder.upserted\", data: {id, price: .price, extra: [.share, .price], ratio: (.ratio // null)}}"
        )
        #expect(
            try decoder.shown("{\"id\":\"w\",\"price\":12345678901234567.89,\"share\":0.30000000000000004}") == [
                "upsert WorkOrder w price=12345678901234567.89 extra=[0.30000000000000004,\"12345678901234567.89\"] ratio=null"
            ])
        #expect(
            try decoder.shown(
                "{\"id\":\"w\",\"price\":123456789012345678901,\"share\":1,\"ratio\":0.12345678901234567890}")
                == [
                    "upsert WorkOrder w price=123456789012345678901 extra=[1,\"123456789012345678901\"] ratio=0.12345678901234568"
                ])
    }

    @Test func `each event of a record is stale for itself`() throws {
        let decoder = try decoder(".[\"events\"][]")
        let fixture = try PipelineFixture(model: decoder.model)
        func add(_ offset: Int64, _ times: [String: String]) throws {
            let events = times.sorted { $0.key < $1.key }.map { id, time in
                "{\"type\":\"workOrder.upserted\",\"time\":\"\(time)\",\"data\":{\"id\":\"\(id)\",\"name\":\"\(time)\"}}"
            }
            try TestRecord("{\"events\":[\(events.joined(separator: ","))]}", offset: offset).deliver { record in
                try fixture.pipeline.add(record, nextOffset: offset + 1) { record throws(DecodeError) in
                    try decoder.decoder.decode(record)
                }
            }
        }
        try add(0, ["a": "2026-01-01", "b": "2026-01-03"])
        try add(1, ["a": "2026-01-02", "b": "2026-01-02"])
        try add(2, ["a": "2026-01-01", "b": "2026-01-02"])
        try fixture.pipeline.finish()
        #expect(fixture.pipeline.summary.applied == 2 && fixture.pipeline.summary.stale == 1)
        let names = try fixture.store.read { try $0.fetch(FetchRequest("WorkOrder")) }.compactMap { $0["name"]?.text }
        #expect(names.sorted() == ["2026-01-02", "2026-01-03"])
    }

    @Test func `a broken event among others is one dead letter`() throws {
        let decoder = try decoder(".[\"events\"][]")
        let failure = try #require(
            decoder.failure(
                "{\"events\":[{\"type\":\"part.upserted\",\"data\":{\"number\":1}},{\"type\":\"part.upserted\",\"data\":{\"numbr\":2}}]}"
            ))
        #expect(failure.code == "decode.unknown_property" && failure.message.hasPrefix("Event 2 of the program: "))
        #expect(decoder.failure("{\"events\":[3]}")?.code == "decode.type")
        #expect(decoder.failure("{\"events\":[{}]}")?.code == "decode.envelope")
    }

    // MARK: Faults of records

    @Test func `a record that the program cannot bear is one dead letter, and the next one is taken`() throws {
        let decoder = try decoder(
            """
            if .do == "loop" then def f: f; f
            elif .do == "memory" then [range(100000000)]
            elif .do == "crash" then reduce range(1000000) as $i (0; [.])
            elif .do == "output" then range(1000000000)
            elif .do == "many" then range(2000)
            elif .do == "error" then error({secret: .do})
            else {type: "part.upserted", data: {number: .n}} end
            """
        ) {
            ($0.maxProgramMegabytes, $0.maxProgramMilliseconds, $0.maxRecordBytes, $0.maxElements) = (
                64, 2000, 1 << 16, 1000
            )
        }
        let codes = [
            "memory": "jq.memory", "crash": "jq.crashed", "output": "jq.output", "many": "decode.too_many",
            "error": "jq.error", "loop": "jq.time",
        ]
        for (number, (what, code)) in codes.sorted(by: { $0.key < $1.key }).enumerated() {
            #expect(decoder.failure("{\"do\":\"\(what)\"}")?.code == code)
            #expect(try decoder.shown("{\"n\":\(number)}") == ["upsert Part \(number)"])
        }
    }

    /// Some records end the process, some are given ahead and never decoded, and some are decoded and were not given ahead.
    @Test func `records given ahead have the outcomes that they have alone`() throws {
        let program = """
            if .do == "memory" then [range(100000000)] elif .do == "crash" then reduce range(1000000) as $i (0; [.])
            elif .do == "error" then error("no part") elif .do == "loop" then def f: f; f
            else {type: "part.upserted", data: {number: .n, label: .label}} end
            """
        let limits = { (limits: inout LimitConfiguration) in
            (limits.maxProgramMegabytes, limits.maxProgramMilliseconds) = (64, 1000)
        }
        let (alone, together) = (try decoder(program, limits), try decoder(program, limits))
        Seeds.forEach(runs: 1) { seed in
            var random = SeededRandom(seed: seed)
            let records = (0..<100).map { number in
                let what = ["memory", "crash", "error", "loop"][random.number(below: 4)]
                let label = String(
                    repeating: "x", count: random.number(below: 20) == 0 ? 70_000 : random.number(below: 900))
                return random.number(below: 25) == 0
                    ? "{\"do\":\"\(what)\"}" : "{\"n\":\(number),\"label\":\"\(label)\"}"
            }
            var ahead = RecordsAhead()
            for (index, record) in records.enumerated() {
                ahead.give(at: index, of: records.count) { next in
                    if random.number(below: 20) == 0 { return random.number(below: 2) == 0 }
                    return TestRecord(records[next]).deliver { together.decoder.expect($0) }
                }
                if random.number(below: 10) == 0 { continue }
                func outcome(_ decoder: TestDecoder) -> [String] {
                    do { return try decoder.shown(record) } catch {
                        return [(error as? DecodeError)?.code ?? "\(error)"]
                    }
                }
                #expect(outcome(together) == outcome(alone), "seed \(seed), record \(index)")
            }
        }
    }

    @Test func `answers to records that nobody decodes are passed over`() throws {
        let decoder = try decoder("{type: \"part.upserted\", data: {number: .n}}")
        let program = try #require(decoder.decoder.routes[0].program)
        func record(_ number: Int) -> String { "{\"n\":\(number)}" }
        let given = (0..<100).prefix { TestRecord(record($0)).deliver { decoder.decoder.expect($0) } }
        #expect(given.count == RecordsAhead.limit && program.aheadCount == given.count)
        for (number, left) in [(0, 31), (5, 26), (500, 0), (6, 0)] {
            #expect(try decoder.shown(record(number)) == ["upsert Part \(number)"])
            #expect(program.aheadCount == left, "behind record \(number)")
        }
    }

    @Test func `a record given ahead that ends the process is no other record's fault`() throws {
        let loop = "{\"do\":\"loop\"}"
        let decoder = try decoder("if .do then def f: f; f else {type: \"part.upserted\", data: {number: .n}} end") {
            $0.maxProgramMilliseconds = 300
        }
        for number in 1...2 {
            #expect(try decoder.shown("{\"n\":0}") == ["upsert Part 0"])
            #expect(TestRecord(loop).deliver { decoder.decoder.expect($0) })
            #expect(try decoder.shown("{\"n\":\(number)}") == ["upsert Part \(number)"])
            #expect(decoder.failure(loop)?.code == "jq.time")
        }
    }

    @Test func `a large record waits for no process that waits for its answers to be read`() throws {
        let decoder = try decoder(
            "{type: \"workOrder.upserted\", data: {id: .id, name: ((.name // \"x\") * (.times // 1))}}")
        let process = try #require(decoder.decoder.routes[0].program).process
        let first = process.processID
        #expect(TestRecord("{\"id\":\"a\",\"times\":400000}").deliver { decoder.decoder.expect($0) })
        let large = "{\"id\":\"b\",\"name\":\"\(String(repeating: "n", count: 600_000))\"}"
        #expect(!TestRecord(large).deliver { decoder.decoder.expect($0) })
        #expect(try decoder.shown(large).count == 1 && process.processID == first)
    }

    @Test func `records behind the end of a process are ahead of the next one`() throws {
        let decoder = try decoder("{type: \"part.upserted\", data: {number: .n}}")
        let program = try #require(decoder.decoder.routes[0].program)
        for number in 0..<10 { #expect(TestRecord("{\"n\":\(number)}").deliver { decoder.decoder.expect($0) }) }
        kill(try #require(program.process.processID), SIGKILL)
        for number in 0..<10 {
            #expect(try decoder.shown("{\"n\":\(number)}") == ["upsert Part \(number)"])
            #expect(program.aheadCount == 9 - number)
        }
    }

    @Test func `each record of a row is given ahead once, and none before the turn of a refused one`() {
        for count in [0, 1, 15, 16, 17, 32, 33, 500] {
            var ahead = RecordsAhead()
            var given: [Int] = []
            for index in 0..<count {
                ahead.give(at: index, of: count) { next in
                    #expect(next < index + RecordsAhead.limit)
                    given.append(next)
                    return next % 20 != 7 || next == index
                }
                #expect(given.last ?? 0 >= index || given.last ?? 0 % 20 == 7)
            }
            #expect(Set(given) == Set(0..<count) && given == given.sorted() && given.count == count)
        }
    }

    @Test func `a process that somebody ends is started again`() throws {
        let decoder = try decoder("{type: \"part.upserted\", data: {number: .n}}")
        let process = try #require(decoder.decoder.routes[0].program).process
        #expect(try decoder.shown("{\"n\":1}") == ["upsert Part 1"])
        let first = try #require(process.processID)
        kill(first, SIGKILL)
        #expect(try decoder.shown("{\"n\":2}") == ["upsert Part 2"])
        #expect(process.processID != first)
    }

    @Test(arguments: [
        (".a.b", "{\"a\":\"Ada\"}", "Cannot index string"), (".a[]", "{\"a\":\"Ada\"}", "Cannot iterate over string"),
        (".a|tonumber", "{\"a\":\"Ada\"}", "Invalid numeric literal"), (".a + 1", "{\"a\":\"Ada\"}", "cannot be added"),
        ("error(.a)", "{\"a\":\"Ada\"}", "could hold a value"), ("error(\"no id\")", "{}", "no id"),
        ("error({a})", "{\"a\":\"Ada\"}", "could hold a value"),
    ])
    func `an error of the program shows no value of the record`(
        _ program: String, _ record: String, _ words: String
    ) throws {
        let failure = try #require(try decoder(program).failure(record))
        #expect(failure.code == "jq.error" && !failure.isRetriable)
        #expect(failure.message.contains(words) && !failure.message.contains("Ada"), "\(failure.message)")
    }

    // MARK: Faults of the surroundings

    @Test func `a process that cannot be started is no dead letter`() throws {
        let error = caught(DecodeError.self) {
            try RecordProgram(
                RouteProgram("."), place: "topic t", limits: LimitConfiguration(), executable: "/nonexistent/worker")
        }
        #expect(error?.code == "jq.unavailable" && error?.isRetriable == true)
        let fixture = try PipelineFixture()
        try fixture.add(TestRecord(Events.message("m0")))
        let thrown = caught(DecodeError.self) {
            try TestRecord(Events.message("m1"), offset: 1).deliver { record in
                try fixture.pipeline.add(record, nextOffset: 2) { _ throws(DecodeError) in
                    throw DecodeError(code: "jq.unavailable", "not now", isRetriable: true)
                }
            }
        }
        #expect(thrown?.code == "jq.unavailable")
        try fixture.pipeline.discard()
        #expect(try fixture.deadLetters().isEmpty && fixture.positions().isEmpty)
    }

    // MARK: Faults of programs

    private func fault(_ yaml: String) throws -> String {
        do {
            let loaded = try WorkerConfiguration.load(yaml: yaml, name: "worker.yaml").configuration
            _ = try loaded.decoder(of: loaded.topics[0], model: TestModels.kinds(), registry: nil)
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test func `a program that is no jq is refused with its place`() throws {
        let text = try fault(
            "topics:\n  - name: t\n    format: json\n    routes:\n      - jq: |\n          .a\n          | foo\n")
        #expect(text.hasPrefix("worker.yaml:7:1: ") && text.contains("foo/0 is not defined"), "\(text)")
        let inLine = try fault("topics:\n  - name: t\n    format: json\n    routes:\n      - jq: '.a ||'\n")
        #expect(inLine.hasPrefix("worker.yaml:5:13: ") && inLine.contains("syntax error"), "\(inLine)")
    }

    @Test func `a program that looks beyond the record is refused with its place`() throws {
        let text = try fault(
            "topics:\n  - name: t\n    format: json\n    routes:\n      - jq: |\n          .a\n          | now\n")
        #expect(text.hasPrefix("worker.yaml:7:1: ") && text.contains("'now'"), "\(text)")
    }

    @Test func `a program in a file is refused with its place there`() throws {
        let folder = TestFolder()
        let path = folder.write("orders.jq", ".a\r\n| .b\r\n| env\r\n")
        let yaml = "topics:\n  - name: t\n    format: json\n    routes:\n      - jq: { file: \(path) }\n"
        #expect(try fault(yaml).hasPrefix("\(path):3:1: "))
        #expect(try fault(yaml.replacing("orders.jq", with: "none.jq")).contains("cannot be read"))
    }

    @Test func `what has no meaning beside a program is refused`() throws {
        let text = try fault(
            "topics:\n  - name: t\n    format: json\n    routes:\n      - { jq: ., entity: Part, topic: t }\n")
        #expect(text.contains("entity stands beside jq") && !text.contains("topic stands"), "\(text)")
        #expect(try fault("topics:\n  - name: t\n    routes: [{ jq: . }]\n").contains("format: json"))
        let further = try fault(
            "topics:\n  - name: t\n    format: json\n    routes: [{ entity: Part, also: [{ jq: . }] }]\n")
        #expect(further.contains("'also'"), "\(further)")
        #expect(
            try fault("topics:\n  - name: t\n    format: json\n    routes: [{ jq: [1] }]\n").contains("jq is a list"))
    }
}
