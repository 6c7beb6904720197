import Testing

@testable import IngestCore

/// What `status` says of fixed answers.
@Suite struct StatusReportTests {
    private static func status(failures: String = "", ready: Bool = true) -> [UInt8] {
        Array(
            """
            {"version":"1","ready":\(ready),"failures":[\(failures)],
            "store":{"path":"a.sqlite","model":"Chat","bytes":4096,"walBytes":0},
            "history":{"token":7,"notified":5},"deadLetters":2,
            "positions":[{"topic":"chat-events","partition":0,"nextOffset":12},
            {"topic":"b","partition":11,"nextOffset":3}]}
            """.utf8)
    }

    private static let metrics = """
        # TYPE kafka_consumer_lag gauge
        kafka_consumer_lag{topic="chat-events",partition="0"} 30
        kafka_consumer_lag{topic="other",partition="0"} 99

        """

    @Test func `a running worker's report is one screen with a lag for each partition that has one`() throws {
        let report = try StatusReport(worker: "http://h:1", status: Self.status(), metrics: Self.metrics)
        #expect(
            report.text == """
                Running, 30 records behind.

                asked          http://h:1
                store          a.sqlite, model Chat, 4096 bytes and 0 bytes of log
                history        token 7, notified up to 5
                dead letters   2

                topic        partition  next offset      lag
                chat-events          0           12       30
                b                   11            3  unknown
                """)
        #expect(report.json.contains(#""lag":30"#) && report.json.contains(#""worker":"http://h:1""#))
    }

    @Test func `a failed check is the verdict, with its reason`() throws {
        let failures = #"{"check":"broker","reason":"away"},{"check":"store","reason":"full"}"#
        let report = try StatusReport(
            worker: "w", status: Self.status(failures: failures, ready: false), metrics: "")
        #expect(report.verdict == "Not ready: broker: away (and 1 more)")
        #expect(report.text.contains("failed         store: full"))
    }

    @Test func `without a worker the report says so, and why`() {
        let report = StatusReport(
            withoutWorker: "nobody answers at x",
            store: StatusReport.StoreState(path: "a", model: "Chat", bytes: nil, walBytes: nil),
            history: StatusReport.HistoryState(token: 0, notified: nil), deadLetters: 0, positions: [])
        #expect(report.verdict == "No worker answers; the store was read alone.")
        #expect(report.text.contains("asked          the store: nobody answers at x"))
        #expect(report.text.contains("No partition has a position yet"))
    }

    @Test func `an answer that is not a worker's is refused`() {
        #expect(throws: DecodingError.self) { try StatusReport(worker: "w", status: Array("{}".utf8), metrics: "") }
        #expect(HTTPGet.parse(Array("SSH-2.0-x\r\n\r\n".utf8)) == nil)
        #expect(HTTPGet.parse(Array("HTTP/1.1 200 OK".utf8)) == nil)
        let answer = HTTPGet.parse(Array("HTTP/1.1 401 Unauthorized\r\nA: b\r\n\r\nno".utf8))
        #expect(answer?.code == 401 && answer?.body == Array("no".utf8))
    }
}
