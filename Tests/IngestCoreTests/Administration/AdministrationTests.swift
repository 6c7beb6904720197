import Dispatch
import Hummingbird
import ObjectGraph
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import Operations

/// Requests over HTTP: the checks that come before the worker, and the worker's own answers.
@Suite(.timeLimit(.minutes(60))) struct AdministrationTests {
    private static let token = "an-operators-token-0123"
    private static let readersToken = "a-readers-token-012345"
    private static let drop = "/admin/dead-letters/drop"

    /// A request as the console sends it, of which a test changes a part.
    struct Sent: Sendable {
        var method = "POST"
        var path = AdministrationTests.drop
        var headers = [
            "Host": "127.0.0.1:8080", "Authorization": "Bearer \(AdministrationTests.token)",
            "Content-Type": "application/json",
        ]
        var body = "{}"

        func answer(_ port: Int) async throws -> RawAnswer {
            try #require(RawAnswer(await sent(port).readToEnd()))
        }

        /// Sends the request, and leaves the answer to be read.
        func sent(_ port: Int) throws -> RawConnection {
            let connection = try #require(RawConnection(port: port))
            var lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            lines += "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n"
            connection.send("\(method) \(path) HTTP/1.1\r\n\(lines)\r\n\(body)")
            return connection
        }
    }

    /// Serves a store with three dead letters.
    ///
    /// - Parameters:
    ///   - value: the bytes of each letter.
    ///   - isWaiting: whether the worker carries nothing out before `body` starts it.
    private func withAdministration(
        value: [UInt8] = [0x7B], isWaiting: Bool = false, routes: [HTTPRoute] = [],
        _ change: (inout HTTPServerConfiguration) -> Void = { _ in }, _ body: (ServedStore, Int) async throws -> Void
    ) async throws {
        let served = try ServedStore()
        let letters = (0..<3).map { offset in
            DeadLetter(
                time: 0, topic: "events", partition: 0, offset: Int64(offset), stage: "decode", code: "json.syntax",
                reason: "r", key: nil, value: value, valueBytes: value.count)
        }
        _ = try served.writer.apply(WriterContext.Chunk(events: [], deadLetters: letters))
        try served.writer.commit()
        if !isWaiting { served.start() }
        let routes = routes + AdministrationAPI(desk: served.desk, hosts: HTTPHosts(["worker.internal"])).routes
        do {
            try await withServer(
                {
                    $0.bearerToken = Self.readersToken
                    $0.operatorToken = Self.token
                    change(&$0)
                }, routes: routes
            ) { try await body(served, $0) }
        } catch {
            try await DispatchQueue(label: "end").run { served.stop() }
            throw error
        }
        try await DispatchQueue(label: "end").run { served.stop() }
    }

    private func letterCount(_ served: ServedStore) throws -> Int {
        try served.writer.store.read { try $0.deadLetterCount() }
    }

    private func entries(_ served: ServedStore) throws -> [AuditEntry] {
        try served.writer.store.read { try $0.auditEntries() }
    }

    /// Each way to send a request wrongly, with the answer.
    private static let faults: [(name: String, status: Int, code: String?, change: @Sendable (inout Sent) -> Void)] = [
        ("no token", 401, "http.unauthorized", { $0.headers["Authorization"] = nil }),
        ("a wrong token", 401, "http.unauthorized", { $0.headers["Authorization"] = "Bearer an-operators-token-0124" }),
        ("the reader's token", 401, "http.unauthorized", { $0.headers["Authorization"] = "Bearer \(readersToken)" }),
        ("basic authentication", 401, "http.unauthorized", { $0.headers["Authorization"] = "Basic \(token)" }),
        ("GET", 405, nil, { $0.method = "GET" }), ("DELETE", 405, nil, { $0.method = "DELETE" }),
        ("another path", 404, nil, { $0.path = "/admin/dead-letters/burn" }),
        ("a foreign name", 421, "http.host", { $0.headers["Host"] = "attacker.example" }),
        ("a foreign page", 403, "http.origin", { $0.headers["Origin"] = "https://attacker.example" }),
        ("a page without an origin", 403, "http.origin", { $0.headers["Origin"] = "null" }),
        ("a page at another port", 403, "http.origin", { $0.headers["Origin"] = "http://127.0.0.1:1" }),
        ("another site", 403, "http.origin", { $0.headers["Sec-Fetch-Site"] = "cross-site" }),
        ("another host of the site", 403, "http.origin", { $0.headers["Sec-Fetch-Site"] = "same-site" }),
        ("no type", 415, "http.content_type", { $0.headers["Content-Type"] = nil }),
        ("a form", 415, "http.content_type", { $0.headers["Content-Type"] = "application/x-www-form-urlencoded" }),
        ("text", 415, "http.content_type", { $0.headers["Content-Type"] = "text/plain; x=application/json" }),
        ("an empty key", 400, "http.idempotency_key", { $0.headers["Idempotency-Key"] = "" }),
        ("a key with a space", 400, "http.idempotency_key", { $0.headers["Idempotency-Key"] = "a b" }),
        (
            "a long key", 400, "http.idempotency_key",
            { $0.headers["Idempotency-Key"] = String(repeating: "k", count: 129) }
        ),
        ("no body", 400, "control.malformed", { $0.body = "" }),
        ("no JSON", 400, "control.malformed", { $0.body = "{" }),
        ("an array", 400, "control.malformed", { $0.body = "[]" }),
        ("two documents", 400, "control.malformed", { $0.body = "{}{}" }),
        ("an unknown condition", 400, "control.unknown", { $0.body = #"{"kode":"json.syntax"}"# }),
        ("a wrong type", 400, "control.malformed", { $0.body = #"{"ids":"1"}"# }),
        ("a wrong number", 400, "control.malformed", { $0.body = #"{"ids":[1.5]}"# }),
        (
            "a deep body", 400, "control.malformed",
            { $0.body = String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40) }
        ),
        (
            "a long body", 413, "control.too_long",
            { $0.body = #"{"reason":""# + String(repeating: "x", count: 1 << 20) + #""}"# }
        ),
        (
            "a token that the history has not", 422, "control.token",
            {
                $0.path = "/admin/cursors/put"
                $0.body = #"{"name":"a","token":99}"#
            }
        ),
        ("a purge without a bound", 400, "control.malformed", { $0.path = "/admin/history/purge" }),
        (
            "a purge with two", 400, "control.malformed",
            {
                $0.path = "/admin/history/purge"
                $0.body = #"{"beforeTime":1,"beforeToken":1,"passesCursors":false}"#
            }
        ),
        ("a backup without a folder", 409, "control.no_backup_folder", { $0.path = "/admin/backup" }),
        (
            "a backup of a name", 400, "control.unknown",
            {
                $0.path = "/admin/backup"
                $0.body = #"{"path":"/etc/passwd"}"#
            }
        ),
    ]

    @Test func `a request that fails a check changes nothing`() async throws {
        try await withAdministration { served, port in
            for fault in Self.faults {
                var sent = Sent()
                fault.change(&sent)
                let answer = try await sent.answer(port)
                #expect(answer.status == fault.status, "\(fault.name): \(answer.body)")
                if let code = fault.code { #expect(answer.body.contains("\"code\":\"\(code)\""), "\(fault.name)") }
                #expect(!answer.body.contains(Self.token), "\(fault.name)")
            }
            #expect(try letterCount(served) == 3)
            // The worker itself saw two of them, and one entry stands for all that had no token.
            #expect(try entries(served).map(\.action) == ["backup", "cursors.put", "http.unauthorized"])
            #expect(try entries(served).last?.actor == "unknown at 127.0.0.1")
        }
    }

    @Test func `every request asks for the token, the method and the type`() async throws {
        try await withAdministration { _, port in
            for name in ControlRequest.names {
                for (status, change) in [
                    (401, { $0.headers["Authorization"] = nil }), (405, { $0.method = "PUT" }),
                    (415, { $0.headers["Content-Type"] = "text/plain" }), (421, { $0.headers["Host"] = "a.example" }),
                    (403, { $0.headers["Origin"] = "http://a.example" }), (400, { $0.body = #"{"x":1}"# }),
                ] as [(Int, (inout Sent) -> Void)] {
                    var sent = Sent()
                    sent.path = AdministrationAPI.path(of: name)
                    change(&sent)
                    let answer = try await sent.answer(port)
                    #expect(answer.status == status, "\(name)")
                }
            }
        }
    }

    @Test func `without an operator token there is no administration`() async throws {
        try await withServer({ $0.bearerToken = Self.readersToken }) { port in
            let refused = try await Sent().answer(port)
            #expect(refused.status == 401)
            var sent = Sent()
            sent.headers["Authorization"] = "Bearer \(Self.readersToken)"
            let missing = try await sent.answer(port)
            #expect(missing.status == 404)
        }
    }

    @Test func `the operator token reads, too`() async throws {
        try await withAdministration { _, port in
            var sent = Sent()
            (sent.method, sent.path, sent.body) = ("GET", "/status", "")
            let answer = try await sent.answer(port)
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: ["http://127.0.0.1:8080", "https://127.0.0.1:8080"])
    func `the server's own page may ask, through a proxy with TLS, too`(origin: String) async throws {
        try await withAdministration { served, port in
            var sent = Sent()
            sent.headers["Origin"] = origin
            sent.headers["Sec-Fetch-Site"] = "same-origin"
            sent.headers["Content-Type"] = "application/json; charset=UTF-8"
            let answer = try await sent.answer(port)
            #expect(answer.status == 200)
            #expect(answer.body == #"{"request":"dead-letters.drop","result":{"count":3},"notes":[]}"# + "\n")
            #expect(try entries(served).first?.actor == "operator at 127.0.0.1")
        }
    }

    @Test func `a repeated key gets the first answer`() async throws {
        try await withAdministration { served, port in
            var sent = Sent()
            sent.headers["Idempotency-Key"] = "once"
            sent.body = #"{"ids":[1]}"#
            let first = try await sent.answer(port)
            #expect(first.status == 200)
            #expect(try await sent.answer(port).body == first.body)
            #expect(try letterCount(served) == 2)
            sent.body = #"{"ids":[2]}"#
            let other = try await sent.answer(port)
            #expect(other.status == 422 && other.body.contains("control.key_reused"))
            #expect(try letterCount(served) == 2)
        }
    }

    @Test func `two at once are carried out one after the other, and a key once`() async throws {
        try await withAdministration { served, port in
            var sent = Sent()
            sent.headers["Idempotency-Key"] = "once"
            let bodies = try await withThrowingTaskGroup(of: String.self) { [sent] tasks in
                for _ in 0..<6 { tasks.addTask { try await sent.answer(port).body } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(bodies) == [#"{"request":"dead-letters.drop","result":{"count":3},"notes":[]}"# + "\n"])
            #expect(try entries(served).count == 1)
        }
    }

    @Test func `a retry names the dead letters that stay`() async throws {
        try await withAdministration { _, port in
            var sent = Sent()
            sent.path = "/admin/dead-letters/retry"
            let answer = try await sent.answer(port)
            #expect(answer.status == 200 && answer.body.contains(#""tried":3"#) && answer.body.contains(#""failed":3"#))
            #expect(answer.body.contains("decode.topic"))
        }
    }

    @Test func `an export gives the letters' lines, and they stay`() async throws {
        try await withAdministration { served, port in
            var sent = Sent()
            sent.path = "/admin/dead-letters/export"
            sent.body = #"{"ids":[1,3]}"#
            let answer = try await sent.answer(port)
            #expect(answer.status == 200 && answer.headers["content-type"] == "application/x-ndjson")
            let letters = try served.writer.store.read { try $0.deadLetters() }
            for letter in letters { #expect(answer.body.contains(DeadLetterLine.text(letter)) == (letter.id != 2)) }
            #expect(letters.count == 3)
            #expect(try entries(served).first?.summary.hasSuffix(#"done: {"count":2}"#) == true)
        }
    }

    @Test func `an export that is repeated with its key is read again`() async throws {
        try await withAdministration { served, port in
            var sent = Sent()
            sent.path = "/admin/dead-letters/export"
            sent.headers["Idempotency-Key"] = "once"
            let first = try await sent.answer(port)
            let second = try await sent.answer(port)
            #expect(first.status == 200 && first.body.contains("json.syntax"))
            #expect(second.status == 200 && second.body == first.body)
            #expect(try entries(served).map(\.summary).count == 1)
        }
    }

    @Test func `a client that leaves before its export begins keeps no other request out`() async throws {
        let long = [UInt8](repeating: 0x78, count: ControlTicket.maximumWaitingBytes)
        try await withAdministration(value: long, isWaiting: true) { served, port in
            var sent = Sent()
            sent.path = "/admin/dead-letters/export"
            var connection: RawConnection? = try sent.sent(port)
            while !served.desk.hasWork { try await Task.sleep(for: .milliseconds(5)) }
            connection?.resetAtEnd()
            connection = nil
            // The server has its turns to see that the connection is gone.
            for _ in 0..<20 { #expect(await RawAnswer.get("/livez", port: port)?.status == 200) }
            served.start()
            sent.path = "/admin/verify"
            // The export ends on its own thread.
            while try await sent.answer(port).status != 200 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(try entries(served).last?.summary.contains("control.abandoned") == true)
        }
    }

    @Test func `readers of the feed keep no operator out`() async throws {
        let stream = HTTPRoute("/stream", lasting: .stream) { _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "begun"))
                    try await Task.sleep(for: .seconds(60))
                })
        }
        let limits: (inout HTTPServerConfiguration) -> Void = {
            ($0.maximumLongLivedAnswers, $0.shutdownTimeoutSeconds) = (1, 0.2)
        }
        try await withAdministration(routes: [stream], limits) { served, port in
            var sent = Sent()
            (sent.method, sent.path, sent.body) = ("GET", "/stream", "")
            let reader = try sent.sent(port)
            #expect(await reader.read(until: "begun") != nil)
            #expect(try await sent.answer(port).status == 503)
            #expect(try await Sent().answer(port).status == 200)
            #expect(try letterCount(served) == 0)
            withExtendedLifetime(reader) {}
        }
    }

    @Test func `operators' requests are bounded, and refused as busy`() async throws {
        try await withAdministration(isWaiting: true, { $0.maximumOperatorRequests = 1 }) { served, port in
            let first = try Sent().sent(port)
            while !served.desk.hasWork { try await Task.sleep(for: .milliseconds(5)) }
            let refused = try await Sent().answer(port)
            #expect(refused.status == 503 && refused.body.contains("\"code\":\"control.busy\""), "\(refused.body)")
            #expect(refused.headers["retry-after"] == "2")
            #expect(await RawAnswer.get("/livez", port: port)?.status == 200)
            served.start()
            #expect(RawAnswer(await first.readToEnd())?.status == 200)
            #expect(try await Sent().answer(port).status == 200)
        }
    }

    @Test func `a verification is answered with its report`() async throws {
        try await withAdministration { served, port in
            var sent = Sent()
            sent.path = "/admin/verify"
            let answer = try await sent.answer(port)
            #expect(answer.status == 200 && answer.body.contains(#""isSound":true"#))
            #expect(try entries(served).first?.summary.hasSuffix("done: 0 problems") == true)
        }
    }
}
