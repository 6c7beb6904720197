import Foundation
import ObjectGraph
import Testing

@testable import IngestCore

@Suite("ChangeFeed", .timeLimit(.minutes(60)))
struct ChangeFeedTests {
    @Test
    func `a page holds the notifications of the topic, and names the next`() async throws {
        let fixture = try FeedFixture()
        try fixture.add(5)
        try await fixture.serve { port in
            let first = try await FeedAnswer(port, "/changes?after=0&limit=3")
            #expect(first.status == 200)
            #expect(first.headers["content-type"] == "application/cloudevents-batch+json; charset=utf-8")
            #expect(first.tokens == [1, 2, 3])
            let expected = try fixture.expected(after: 0, limit: 3)
            #expect(first.events.map(\.json) == expected)
            #expect(first.headers["ingest-token"] == "\(fixture.identity):3")
            let next = try #require(first.next)
            let second = try await FeedAnswer(port, next)
            #expect(second.tokens == [4, 5])
            let third = try await FeedAnswer(port, try #require(second.next) + "&wait=0")
            #expect(third.status == 200 && third.body == "[]\n")
            #expect(third.headers["ingest-token"] == "\(fixture.identity):5")
        }
    }

    @Test
    func `without a token the feed begins with what the history holds, at 'latest' with what comes`() async throws {
        let fixture = try FeedFixture()
        try fixture.add(4)
        _ = try fixture.writer.purgeHistory(HistoryPurge(before: .token(3)))
        try await fixture.serve { port in
            #expect(try await FeedAnswer(port, "/changes").tokens == [3, 4])
            #expect(try await FeedAnswer(port, "/changes?after=2").tokens == [3, 4])
            let latest = try await FeedAnswer(port, "/changes?after=latest&wait=0")
            #expect(latest.tokens.isEmpty && latest.headers["ingest-token"] == "\(fixture.identity):4")
        }
    }

    @Test
    func `a long poll answers when something changes`() async throws {
        let fixture = try FeedFixture()
        try fixture.add(1)
        try await fixture.serve { port in
            async let answer = FeedAnswer(port, "/changes?after=1&wait=60")
            try await fixture.waitForReaders(1)
            try fixture.add(1)
            #expect(try await answer.tokens == [2])
        }
    }

    @Test
    func `the feed sends only changes of the wanted entities`() async throws {
        let fixture = try FeedFixture()
        try fixture.add(3)
        try await fixture.serve { port in
            let chats = try await FeedAnswer(port, "/changes?after=0&entity=Chat")
            #expect(!chats.events.isEmpty)
            #expect(Set(chats.events.flatMap(\.entities)) == ["Chat"])
            #expect(chats.next?.hasSuffix("&entity=Chat") == true)
            let none = try await FeedAnswer(port, "/changes?after=0&entity=Member&wait=0")
            #expect(none.body == "[]\n" && none.headers["ingest-token"] == "\(fixture.identity):3")
        }
    }

    @Test
    func `with granularity=object each change is an event, with the topic's id`() async throws {
        let fixture = try FeedFixture()
        try fixture.add(2)
        try await fixture.serve { port in
            let answer = try await FeedAnswer(port, "/changes?after=0&granularity=object&entity=Message")
            #expect(answer.events.map { $0.object["id"] as? String } == ["1.1", "2.1"])
            #expect(answer.events.allSatisfy { ($0.data["change"] as? String) == "insert" })
        }
    }

    @Test(arguments: [
        ("after=x", "history.malformed_token"), ("after=-1", "history.malformed_token"),
        ("limit=0", "feed.bad_parameter"), ("limit=1001", "feed.bad_parameter"),
        ("wait=nan", "feed.bad_parameter"), ("wait=61", "feed.bad_parameter"),
        ("entity=Nobody", "feed.bad_parameter"), ("entity=", "feed.bad_parameter"),
        ("granularity=no", "feed.bad_parameter"), ("afer=1", "feed.bad_parameter"),
    ])
    func `a faulty request is refused with a code`(query: String, code: String) async throws {
        try await FeedFixture().serve { port in
            let answer = try #require(await RawAnswer.get("/changes?\(query)", port: port))
            #expect(answer.status == 400)
            #expect(answer.headers["content-type"] == "application/problem+json")
            #expect(answer.body.contains("\"code\":\"\(code)\""))
        }
    }

    @Test
    func `a token that the history does not serve is gone, and the answer says the way back`() async throws {
        let fixture = try FeedFixture()
        try fixture.add(4)
        _ = try fixture.writer.purgeHistory(HistoryPurge(before: .token(3)))
        let identity = fixture.identity
        let cases = [
            ("after=1", "history.expired"), ("after=\(identity):0", "history.expired"),
            ("after=5", "history.token_ahead"), ("after=other:3", "history.foreign_token"),
        ]
        try await fixture.serve { port in
            for (query, code) in cases {
                for accept in ["*/*", "text/event-stream"] {
                    let answer = try await FeedAnswer(port, "/changes?\(query)", headers: ["Accept": accept])
                    #expect(answer.status == 410, "\(query)")
                    #expect(answer.headers["content-type"] == "application/problem+json")
                    let body = try #require(answer.problem)
                    #expect(body["code"] as? String == code)
                    #expect(body["token"] as? String == "\(identity):4")
                    let oldest = try await FeedAnswer(port, try #require(body["oldest"] as? String))
                    #expect(oldest.tokens == [3, 4])
                    let latest = try #require(body["latest"] as? String)
                    #expect(try await FeedAnswer(port, latest + "&wait=0").body == "[]\n")
                }
            }
        }
    }

    @Test
    func `a transaction of any size comes in parts, a page in memory at a time`() async throws {
        let fixture = try FeedFixture(chunk: 20_000)
        try await fixture.addMany(12_000)
        try await fixture.serve { port in
            let answer = try await FeedAnswer(port, "/changes?after=0")
            #expect(answer.events.count >= 3)
            #expect(answer.events.map { $0.data["part"] as? Int } == answer.events.indices.map { $0 + 1 })
            #expect(answer.events.map { $0.data["last"] as? Bool }.last == true)
            #expect(answer.events.reduce(0) { $0 + $1.entities.count } == 12_001)
            #expect(answer.headers["ingest-token"] == "\(fixture.identity):1")
            // The chat is among the first part's changes, and the last part says that there are no more.
            let chats = try await FeedAnswer(port, "/changes?after=0&entity=Chat")
            #expect(chats.events.map { $0.data["last"] as? Bool } == [false, true])
            #expect(chats.events.flatMap(\.entities) == ["Chat"])
        }
    }

    @Test
    func `HEAD shows the form, and other methods are refused`() async throws {
        try await FeedFixture().serve { port in
            let head = try #require(await RawAnswer.get("/changes", port: port, method: "HEAD"))
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(await RawAnswer.get("/changes", port: port, method: "POST")?.status == 405)
        }
    }

    @Test
    func `readers beyond the bound get 503`() async throws {
        let fixture = try FeedFixture()
        try await fixture.serve({ $0.maximumLongLivedAnswers = 1 }) { port in
            async let first = FeedAnswer(port, "/changes?wait=60")
            try await fixture.waitForReaders(1)
            let second = try await FeedAnswer(port, "/changes")
            #expect(second.status == 503 && second.headers["retry-after"] == "5")
            try fixture.add(1)
            #expect(try await first.tokens == [1])
        }
    }
}
