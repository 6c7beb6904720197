import Foundation
import KafkaClient
import TestSupport
import Testing

/// Each command answers for a store in a PostgreSQL server as for the file that it was copied from.
@Suite(.serialized) struct PostgresCommandTests {
    private let server: PostgresServer
    private let workspace: Workspace
    private let schema: String

    init() throws {
        server = try PostgresServer.shared.get()
        workspace = try Workspace()
        schema = server.newSchema()
    }

    private func file(_ model: String) -> [String] {
        ["--set", "model=\(model)", "--set", "store.path=\(workspace.path("store.sqlite"))"]
    }

    private func there(_ model: String) -> [String] {
        ["--set", "model=\(model)", "--set", "store.url=\(server.url)&schema=\(schema)"]
    }

    /// An answer without the store's place and the moment: exit status, output and errors.
    private func answer(_ arguments: [String]) throws -> String {
        let result = try Program.run(arguments)
        return plain("\(result.status)\n\(result.output)\n\(result.errors)")
    }

    private func plain(_ text: String) -> String {
        let place = server.url.firstRange(of: "?host=").map {
            server.url[..<$0.lowerBound].replacing("@/", with: "@\(server.url[$0.upperBound...])/") + " (\(schema))"
        }
        return text.replacing(workspace.path("store.sqlite"), with: "PLACE")
            .replacing(place.map { String($0) } ?? "", with: "PLACE")
            .replacing(/process [0-9]+/, with: "process").replacing(/[0-9-]+T[0-9:.]+Z/, with: "TIME")
            .replacing(/[0-9]+ records\/s|"seconds":[0-9.]+,"recordsPerSecond":[0-9]+/, with: "SPEED")
            .replacing(/\b[0-9]+ (s|min) (ago|old)\b/, with: "AGE")
            // A server's folder and disk are its own.
            .replacing(/(?m)^(permissions|disk) .*$/, with: "")
            .replacing(/\{"name":"(permissions|disk)"[^}]*\},/, with: "")
    }

    /// Carries commands out on both stores, one after the other, and compares their answers.
    private func expectSame(_ commands: [String], _ model: String) throws {
        for command in commands {
            // Nobody listens at this port, while other tests' workers may at the default one.
            let words =
                command.split(separator: " ").map { String($0).replacing("_", with: " ") } + ["--set", "http.port=1"]
            let (here, there) = (try answer(words + file(model)), try answer(words + there(model)))
            #expect(here == there, "\(command)")
            #expect(here.count > 3, "\(command)")
        }
    }

    private func copy(_ events: String, _ model: String) throws {
        let replay = ["replay", events, "--allow-dead-letters"]
        try #require(try Program.run(replay + file(model)).status == 0)
        let copied = try Program.run(["copy", "--from", workspace.path("store.sqlite")] + there(model))
        try #require(copied.status == 0, "\(copied.errors)")
    }

    private static let chat = "config/models/chat.yaml"

    @Test func `commands that read show the same`() throws {
        try copy("samples/chat-events.jsonl", Self.chat)
        try expectSame(
            [
                "check --offline", "check --offline --json", "status", "verify", "verify --json", "verify --dump",
                "fetch Member --sort name[cd],id --json", "fetch Chat --sort -messagesCount --limit 3",
                "fetch Message --where chat.title_CONTAINS[cd]_'safe'_AND_seq_>_1 --sort -sentAt --fields id,seq",
                "fetch Chat --where ANY_members.name_BEGINSWITH_'A' --fields id,title", "fetch Message --count",
                "fetch Message --fields chat.title,count()_AS_n --group-by chat.title --having n_>_3 --sort -n",
                "fetch Message --fields sender.name --distinct --sort sender.name",
                "fetch Message --where titel_=_'x'", "history list", "history --json --limit 1",
                "history --entity Chat --kind insert --count", "dead-letters",
                "dead-letters --json --code decode.type", "dead-letters summary", "dead-letters show 1",
                "dead-letters show 99", "dead-letters export", "audit", "migrate --dry-run",
            ], Self.chat)
    }

    @Test func `doctor examines the store in the server`() throws {
        try copy("samples/chat-events.jsonl", Self.chat)
        let broker = try EmbeddedBroker()
        try broker.createTopic("chat-events", partitions: 1)
        let kafka = ["--set", "kafka.bootstrap.servers=\(broker.bootstrapServers)"]
        let lines = try Program.run(["doctor"] + kafka + there(Self.chat)).output.split(separator: "\n").map {
            $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        }
        for expected in ["contents ok sound", "disk the store is in PostgreSQL", "broker ok"] {
            #expect(lines.contains { $0.hasPrefix(expected) }, "\(expected): \(lines)")
        }
        #expect(lines.contains { $0.hasPrefix("store ok") && $0.hasSuffix("(\(schema)), history token 1") }, "\(lines)")
    }

    @Test func `commands that write leave the same`() throws {
        try copy("samples/chat-events.jsonl", Self.chat)
        let more = workspace.path("more.jsonl")
        try Foreign.generateEvents(300, seed: 51, to: more)
        try expectSame(
            [
                "history cursors put reader 0", "history cursors", "history cursors put reader 99",
                "dead-letters retry", "dead-letters drop 1", "dead-letters drop --code decode.type",
                "replay \(more) --log-level error", "replay \(more) --restart --json --log-level error",
                "history purge --before 2", "history purge --before 2 --pass-cursors", "history cursors remove reader",
                "history", "history confirm", "verify --repair", "verify --dump", "audit",
            ], Self.chat)
    }

    @Test func `conflicts are listed and dropped`() throws {
        let model = try workspace.membersModel()
        func event(_ number: Int) -> String {
            #"{"type":"member.created","data":{"id":"m\#(number)","name":"n\#(number)","email":"a\#(number / 2)@x.y"}}"#
        }
        let first = try workspace.write((0..<4).map(event).joined(separator: "\n"), to: "first.jsonl")
        try copy(first, model)
        // The server's own conflicts have to come after those of the file.
        let second = try workspace.write((4..<8).map(event).joined(separator: "\n"), to: "second.jsonl")
        try expectSame(
            [
                "conflicts", "replay \(second) --log-level error", "conflicts list --json", "conflicts --after 2",
                "conflicts drop --through 3", "conflicts",
            ], model)
        #expect(try answer(["conflicts", "--json"] + there(model)).contains(#""local":"n7","stored":"n6""#))
    }

    @Test func `a plan is the server's`() throws {
        try copy("samples/chat-events.jsonl", Self.chat)
        func plan(_ arguments: String...) throws -> String {
            let result = try Program.run(["fetch", "Message", "--explain"] + arguments + there(Self.chat))
            #expect(result.status == 0, "\(result.errors)")
            return result.output
        }
        // Of a table without statistics the server takes an index for a few rows.
        let byIdentity = try plan("--where", "id = 'm-0001'")
        #expect(byIdentity.contains("An index ") && byIdentity.contains("$1::text"), "\(byIdentity)")
        let all = try plan("--where", "body CONTAINS 'pump'", "--sort", "body")
        #expect(
            all.contains("all objects are read, then sorted.") && all.contains("Seq Scan on \"Message\" t"), "\(all)")
        #expect(!all.contains("in memory"))
        let counted = try plan("--where", "seq > 3", "--count")
        #expect(counted.hasPrefix("SELECT count(*) FROM") && !counted.contains("LIMIT"), "\(counted)")
        let judged = try plan("--where", "seq > 3 AND body CONTAINS[cd] 'Pump'")
        #expect(judged.contains("in memory, over these rows") && judged.contains("seq"), "\(judged)")
    }

    @Test func `the console and the feed show a store without a worker`() throws {
        try copy("samples/chat-events.jsonl", Self.chat)
        let more = workspace.path("more.jsonl")
        try Foreign.generateEvents(200, seed: 52, to: more)
        let consoles = try [file(Self.chat), there(Self.chat)].map {
            try Program(["console", "--set", "http.port=0"] + $0)
        }
        func expectSame(_ path: String, contains text: String) throws {
            let answers = try consoles.map { try #require(try $0.get(path)) }
            #expect(answers[0].status == 200 && plain(answers[0].body) == plain(answers[1].body), "\(path)")
            #expect(answers[1].body.contains(text), "\(path): \(answers[1].body.prefix(1000))")
        }
        try expectSame("/", contains: "<html")
        let api = "/console/api"
        try expectSame("\(api)/objects?entity=Chat&sort=-messagesCount", contains: "Shift handover")
        try expectSame(
            "\(api)/objects?entity=Message&where=body%20CONTAINS%5Bcd%5D%20'PUMP'", contains: "Pump at the sump")
        try expectSame("\(api)/object?entity=Chat&id=chat-shift", contains: #""change":"insert""#)
        try expectSame("\(api)/dead-letters", contains: "json.truncated")
        try expectSame("\(api)/audit", contains: "replay")
        try expectSame("\(api)/model", contains: "messagesCount")
        try expectSame("/changes?after=0", contains: "m-0001")
        try expectSame("/changes?after=0&entity=Chat&granularity=object&limit=2", contains: "chat-shift")
        #expect(try consoles[1].get("/changes?after=9999")?.status == 410)
        // A reader waits for the next change.
        let replay = try Program(["replay", more] + there(Self.chat))
        let change = try #require(try consoles[1].get("/changes?after=1&limit=1&wait=60"))
        #expect(change.status == 200 && change.body.contains(#""token":2"#), "\(change.body.prefix(500))")
        try replay.expectGoodEnd()
        for console in consoles {
            console.send(SIGTERM)
            try console.expectGoodEnd()
        }
    }
}
