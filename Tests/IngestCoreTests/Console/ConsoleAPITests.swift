import Foundation
import FoundationXML
import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

@Suite(.timeLimit(.minutes(60))) struct ConsoleAPITests {
    private let fixture: FeedFixture
    private let api: ConsoleAPI

    init() throws {
        fixture = try FeedFixture()
        api = ConsoleAPI(store: fixture.store, sampler: ConsoleSampler(fixture.metrics))
    }

    private func ask(_ path: String, status: Int = 200) async throws -> NSDictionary {
        var found: NSDictionary?
        try await withServer(routes: api.routes) { port in
            let answer = try #require(await RawAnswer.get("/console/api/\(path)", port: port))
            #expect(answer.status == status, "\(answer.body)")
            found = try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? NSDictionary
        }
        return try #require(found)
    }

    private func identities(_ page: NSDictionary) -> [String] {
        (page["objects"] as? [NSDictionary] ?? []).compactMap { $0["id"] as? String }
    }

    @Test func `a page of objects follows the condition and the order, and names the next page`() async throws {
        try fixture.add(ConsoleAPI.pageLength + 5)
        let first = try await ask("objects?entity=Message&sort=-id")
        let next = try #require(first["next"] as? String)
        let last = try await ask("objects?entity=Message&sort=-id&after=\(next)")
        #expect(last["next"] is NSNull)
        #expect(identities(first).count == ConsoleAPI.pageLength && identities(last).count == 5)
        #expect(identities(first) + identities(last) == (identities(first) + identities(last)).sorted().reversed())
        #expect(try await identities(ask("objects?entity=Message&where=id%20==%20'm3'")) == ["m3"])
    }

    @Test func `an object comes with its timeline, the newest change first`() async throws {
        try fixture.add(2)
        let chat = try #require(try fixture.store.read { try $0.fetch(FetchRequest("Chat")) }.first?["id"]?.text)
        let answer = try await ask("object?entity=Chat&id=\(chat)")
        #expect((answer["object"] as? NSDictionary)?["id"] as? String == chat)
        let timeline = try #require(answer["timeline"] as? [NSDictionary])
        #expect(timeline.compactMap { $0["change"] as? String } == ["update", "insert"])
        #expect(timeline.first?["properties"] as? [String] == ["messagesCount"])
        #expect(answer["isCut"] as? Bool == false)
        #expect(try await ask("object?entity=Chat&id=nobody")["object"] is NSNull)
    }

    @Test func `a long timeline shows the newest changes, and says that older ones are missing`() async throws {
        try await fixture.addMany(ConsoleAPI.timelineLength * 2 + 3)
        let chat = try #require(try fixture.store.read { try $0.fetch(FetchRequest("Chat")) }.first?["id"]?.text)
        let answer = try await ask("object?entity=Chat&id=\(chat)")
        let tokens = try #require(answer["timeline"] as? [NSDictionary]).compactMap { $0["token"] as? Int64 }
        let last = try fixture.store.read { try $0.lastToken() }
        #expect(tokens == (0..<Int64(ConsoleAPI.timelineLength)).map { last - $0 })
        #expect(answer["isCut"] as? Bool == true)
    }

    @Test(arguments: [
        ("objects", "console.parameter"), ("objects?entity=Nothing", "console.parameter"),
        ("objects?entity=Message&where=bodi%20==%201", "predicate.unknown_property"),
        ("objects?entity=Message&where=((", "predicate.syntax"),
        ("objects?entity=Message&after=nonsense", "predicate.cursor"),
        ("objects?entity=Message&entity=Chat", "console.parameter"), ("object?entity=Chat", "console.parameter"),
        ("samples?after=-1", "console.parameter"), ("audit?before=x", "console.parameter"),
        ("dead-letters?after=x", "console.parameter"), ("samples?after=99999999999999999999", "console.parameter"),
    ])
    func `a question that cannot be understood is refused with a code`(_ path: String, _ code: String) async throws {
        #expect(try await ask(path, status: 400)["code"] as? String == code)
    }

    @Test func `dead letters come in groups and with their bytes`() async throws {
        let letters = ["one", "two", "three"].map { value in
            DeadLetter(
                time: 0, topic: "events", partition: 0, offset: 0, stage: "decode", code: "decode.type", reason: "r",
                key: nil, value: [UInt8](value.utf8), valueBytes: value.utf8.count)
        }
        _ = try fixture.writer.apply(WriterContext.Chunk(events: [], deadLetters: letters))
        try fixture.writer.commit()
        let answer = try await ask("dead-letters?code=decode.type")
        #expect(answer["total"] as? Int == 3)
        #expect((answer["groups"] as? [NSDictionary])?.first?["count"] as? Int == 3)
        let values = try #require(answer["letters"] as? [NSDictionary]).compactMap { $0["value"] as? String }
        #expect(
            values.compactMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) } == [
                "one", "two", "three",
            ])
        #expect(try await ask("dead-letters?code=other")["total"] as? Int == 0)
    }

    @Test func `a long record is cut, and its size is told`() async throws {
        let records = [ConsoleAPI.maximumValueBytes, ConsoleAPI.maximumValueBytes + 1, 3 << 20]
        let letters = records.map { size in
            DeadLetter(
                time: 0, topic: "events", partition: 0, offset: 0, stage: "decode", code: "decode.type", reason: "r",
                key: [UInt8](repeating: 0x6B, count: 1 << 20), value: [UInt8](repeating: 0x78, count: size),
                valueBytes: size)
        }
        _ = try fixture.writer.apply(WriterContext.Chunk(events: [], deadLetters: letters))
        try fixture.writer.commit()
        let found = try #require(try await ask("dead-letters")["letters"] as? [NSDictionary])
        #expect(found.compactMap { $0["valueBytes"] as? Int } == records)
        #expect(found.compactMap { $0["isCut"] as? Bool } == [false, true, true])
        for letter in found {
            let value = (letter["value"] as? String).flatMap { Data(base64Encoded: $0) }
            #expect(value?.count == ConsoleAPI.maximumValueBytes && letter["key"] == nil)
        }
    }

    @Test func `a group is what code and topic select, whatever the entity`() async throws {
        let letters = ["Message.body has no value", "The Chat has no title"].enumerated().map { offset, reason in
            DeadLetter(
                time: 0, topic: "events", partition: 0, offset: Int64(offset), stage: "apply", code: "apply.required",
                reason: reason, key: nil, value: nil, valueBytes: 0)
        }
        _ = try fixture.writer.apply(WriterContext.Chunk(events: [], deadLetters: letters))
        try fixture.writer.commit()
        let answer = try await ask("dead-letters?code=apply.required&topic=events")
        #expect(answer["total"] as? Int == 2)
        #expect((answer["groups"] as? [NSDictionary])?.compactMap { $0["count"] as? Int } == [2])
    }

    // MARK: Slow reads

    /// For each of the messages the condition looks at all triples of them, which takes hours.
    private static let endless: String = {
        let condition = """
            SUBQUERY(chat.messages, $a, SUBQUERY($a.chat.messages, $b, \
            ANY $b.chat.messages.body = 'nobody').@count > 0).@count > 0
            """
        return
            "objects?entity=Message&where=\(condition.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
    }()

    @Test func `a search that takes too long ends, and says what to do`() async throws {
        try await fixture.addMany(400)
        let api = ConsoleAPI(store: fixture.store, sampler: ConsoleSampler(fixture.metrics), limitSeconds: 0.2)
        try await withServer(routes: api.routes) { port in
            let answer = try #require(await RawAnswer.get("/console/api/\(Self.endless)", port: port))
            #expect(answer.status == 503 && answer.body.contains("\"code\":\"store.time_limit\""), "\(answer.body)")
            #expect(answer.body.contains("Narrow the condition, or add an index"))
        }
    }

    @Test func `others are answered beside a slow search, and a search ends with its connection`() async throws {
        try await fixture.addMany(400)
        let api = ConsoleAPI(store: fixture.store, sampler: ConsoleSampler(fixture.metrics), limitSeconds: 3600)
        try await withServer(routes: api.routes) { port in
            func search() throws -> RawConnection {
                let connection = try #require(RawConnection(port: port))
                connection.send("GET /console/api/\(Self.endless) HTTP/1.1\r\nHost: x\r\n\r\n")
                return connection
            }
            var searches = [try search()]
            for _ in 0..<ConsoleAPI.maximumReads {
                #expect(await RawAnswer.get("/console/api/objects?entity=Chat", port: port)?.status == 200)
            }
            // With these nobody has a turn any more, until one of them ends.
            for _ in 1..<ConsoleAPI.maximumReads { searches.append(try search()) }
            #expect(await RawAnswer.get("/console/api/model", port: port)?.status == 200)
            searches.removeAll()
            for _ in 0..<ConsoleAPI.maximumReads * 2 {
                #expect(await RawAnswer.get("/console/api/audit", port: port)?.status == 200)
            }
        }
    }

    @Test func `reads of the console are bounded, so that probes find a connection`() async throws {
        try await fixture.addMany(400)
        let api = ConsoleAPI(store: fixture.store, sampler: ConsoleSampler(fixture.metrics), limitSeconds: 3600)
        try await withServer({ $0.maximumReads = 2 }, routes: api.routes) { port in
            var searches: [RawConnection] = []
            var answer: RawAnswer?
            // A search may be refused because of the short read beside it.
            while answer?.status != 503 {
                let connection = try #require(RawConnection(port: port))
                connection.send("GET /console/api/\(Self.endless) HTTP/1.1\r\nHost: x\r\n\r\n")
                searches.append(connection)
                answer = await RawAnswer.get("/console/api/objects?entity=Chat", port: port)
            }
            #expect(answer?.headers["retry-after"] == "5")
            #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
            #expect(await RawAnswer.get("/console/api/samples", port: port)?.status == 200)
            withExtendedLifetime(searches) {}
        }
    }

    @Test func `the model comes as JSON and as a drawing`() async throws {
        #expect((try await ask("model")["entities"] as? [NSDictionary])?.count == 3)
        try await withServer(routes: api.routes) { port in
            let answer = try #require(await RawAnswer.get("/console/api/model.svg", port: port))
            #expect(answer.headers["content-type"] == "image/svg+xml; charset=utf-8")
            let parser = XMLParser(data: Data(answer.body.utf8))
            #expect(parser.parse())
        }
    }

    @Test(arguments: [
        ("localhost:8080", true), ("127.0.0.1:8080", true), ("[::1]:8080", true), ("worker.internal", true),
        ("evil.example:8080", false), ("127.0.0.1.evil.example", false), ("", false), ("localhost.evil.example", false),
    ])
    func `without a token the console answers to its own names only`(_ authority: String, _ isAdmitted: Bool) {
        #expect(HTTPHosts(["worker.internal"]).admits(authority) == isAdmitted)
    }

    @Test func `a request that names another host is refused, on an address of the network too`() async throws {
        let api = ConsoleAPI(
            store: fixture.store, sampler: ConsoleSampler(fixture.metrics), hosts: HTTPHosts(["127.0.0.1"]))
        try await withServer(routes: api.routes) { port in
            for route in api.routes {
                let answer = try #require(await RawAnswer.get(route.path, port: port, host: "attacker.example"))
                #expect(answer.status == 421 && answer.body.contains("http.host"), "\(answer.body)")
            }
        }
    }

    @Test func `the audit comes page by page, the last request first`() async throws {
        for number in 0...ConsoleAPI.pageLength {
            let request = ControlRequest.removeCursor("<b>\(number)</b>")
            _ = try ControlWork(
                request, actor: "a test", writer: fixture.writer, configuration: WorkerConfiguration()
            ).finish()
        }
        let first = try await ask("audit")
        let entries = try #require(first["entries"] as? [NSDictionary])
        #expect(
            entries.count == ConsoleAPI.pageLength && entries[0]["outcome"] as? String == #"done: {"removed":false}"#)
        #expect(entries[0]["arguments"] as? String == "{\"name\":\"<b>\(ConsoleAPI.pageLength)</b>\"}")
        let last = try await ask("audit?before=\(try #require(first["next"] as? Int))")
        #expect((last["entries"] as? [NSDictionary])?.count == 1 && last["next"] is NSNull)
    }

    @Test func `samples come after the asked time`() async throws {
        #expect((try await ask("samples?after=0")["points"] as? [Any])?.isEmpty == true)
    }
}
