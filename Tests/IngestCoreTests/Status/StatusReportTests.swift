import Foundation
import KafkaClient
import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

/// What `status` says of fixed answers.
@Suite struct StatusReportTests {
    private static func status(attention: String = "", state: String = "running") -> [UInt8] {
        Array(
            """
            {"version":"1","ready":true,"failures":[],
            "verdict":{"state":"\(state)","sentence":"Running, 30 records behind.","attention":[\(attention)]},
            "store":{"path":"a.sqlite","model":"Chat","bytes":4096,"walBytes":0},
            "history":{"token":7,"notified":5},"deadLetters":2,
            "positions":[{"topic":"chat-events","partition":0,"nextOffset":12,"lag":30,"lagSeconds":4.4,"state":"reading","reason":null},
            {"topic":"b","partition":11,"nextOffset":3,"lag":null,"state":"halted","reason":"poison"}]}
            """.utf8)
    }

    @Test func `a running worker's report is one screen with lag and state of each partition`() throws {
        let report = try StatusReport(worker: "http://h:1", status: Self.status())
        #expect(
            report.text == """
                Running, 30 records behind.

                asked          http://h:1
                store          a.sqlite, model Chat, 4.1 kB
                history        token 7, notified up to 5
                dead letters   2

                topic        partition  next offset       lag  state
                chat-events          0           12  30 (4 s)  reading
                b                   11            3   unknown  halted: poison
                """)
        #expect(report.json.contains(#""lag":30"#) && report.json.contains(#""worker":"http://h:1""#))
    }

    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (4096, "4.1 kB"), (999_960, "1 MB"), (277_725_184, "277.7 MB"),
            (3_200_000_000_000_000, "3,200 TB"),
        ])
    func `sizes have a unit that a person reads`(_ bytes: Int, _ text: String) {
        #expect(ByteCount.text(bytes) == text)
    }

    @Test func `the log beside a store is in the report`() throws {
        var report = try StatusReport(worker: "w", status: Self.status())
        report.store.walBytes = 70_000_000
        #expect(report.text.contains("a.sqlite, model Chat, 4.1 kB and 70 MB of log"))
    }

    @Test func `each thing that needs a person stands with its remedy`() throws {
        let thing = #"{"check":"broker","title":"no broker answers","reason":"refused","remedy":"Check the network."}"#
        let report = try StatusReport(worker: "w", status: Self.status(attention: thing))
        #expect(report.text.contains("attention      no broker answers: refused. Check the network."))
    }

    @Test func `the answer of a worker is a report`() throws {
        var own = StatusReport(
            WorkerConfiguration(), model: "m", startedAt: 0,
            StoreFigures(
                positions: [SourcePosition(topic: "t", partition: 0, nextOffset: 5)], token: 3, deadLetters: 1),
            metrics: WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3"),
            checks: [HealthCheck("store"), HealthCheck("broker", failure: "away")],
            work: StoreWork(kind: .migration, phrase: "copying", share: 0.5))
        let report = try StatusReport(worker: "w", status: Array(own.json.utf8))
        #expect(report.verdict?.state == .stopped && report.ready == false)
        #expect(report.verdict?.attention.map(\.check) == ["broker", "deadLettersKept"])
        #expect(report.positions.map(\.state) == ["unassigned"])
        own.worker = "w"
        own.verdict?.stop = nil
        #expect(report == own)
    }

    @Test func `a state of a newer worker is worth a look`() throws {
        let report = try StatusReport(worker: "w", status: Self.status(state: "hovering"))
        #expect(report.verdict?.state == .degraded)
    }

    @Test(arguments: ["store", "broker", "outbox", "loop"])
    func `a partition of a worker that is stopped waits, with the reason`(_ check: String) {
        func positions(_ checks: [HealthCheck]) -> [StatusReport.Position] {
            let metrics = WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3")
            metrics.setLag(PartitionLag.Measure(records: 7, seconds: 2.26), of: TopicPartition("t", 0))
            let places = [0, 1].map { SourcePosition(topic: "t", partition: $0, nextOffset: 5) }
            return StatusReport(
                WorkerConfiguration(), model: "m", startedAt: 0, StoreFigures(positions: places, token: 3),
                metrics: metrics, checks: checks
            ).positions
        }
        #expect(positions([HealthCheck(check)]).map(\.state) == ["reading", "unassigned"])
        #expect(positions([HealthCheck(check)]).map(\.lagSeconds) == [2.3, nil])
        let stopped = positions([HealthCheck(check, failure: "the disk is full")])
        #expect(stopped.map(\.state) == ["waiting", "unassigned"])
        #expect(stopped[0].reason?.isEmpty == false && stopped[1].reason == nil)
        // Records go on where notifications alone fail.
        #expect(positions([HealthCheck("publisher", failure: "away")])[0].state == "reading")
    }

    @Test func `a partition that waits for a schema waits alone`() {
        let metrics = WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3")
        for partition: Int32 in [0, 1] { metrics.setLag(nil, of: TopicPartition("t", partition)) }
        let health = HealthMonitor()
        health.report(.decodingFailed(TopicPartition("t", 1), reason: "no schema"))
        let report = StatusReport(
            WorkerConfiguration(), model: "m", startedAt: 0,
            StoreFigures(
                positions: [0, 1].map { SourcePosition(topic: "t", partition: $0, nextOffset: 5) }, token: 3),
            metrics: metrics, checks: health.readiness().filter { $0.name == "decoding" },
            faults: health.partitionFaults())
        #expect(report.verdict?.state == .degraded)
        #expect(report.positions.map(\.state) == ["reading", "waiting"])
        #expect(report.positions.map(\.reason) == [nil, "no schema"])
    }

    @Test func `the codes of dead letters add up to their number, or are left out`() {
        let metrics = WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3")
        metrics.deadLettersKept.replace([("decode.type", 32)])
        func report(_ figures: StoreFigures) -> StatusReport {
            StatusReport(WorkerConfiguration(), model: "m", startedAt: 0, figures, metrics: metrics, checks: [])
        }
        #expect(report(StoreFigures(deadLetters: 7)).text.contains("dead letters   7\n"))
        #expect(report(StoreFigures(deadLetters: 32)).text.contains("dead letters   32: 32 decode.type\n"))
        let own = StoreFigures(deadLetters: 7, deadLettersByCode: [("decode.type", 4), ("json.truncated", 3)])
        #expect(report(own).text.contains("dead letters   7: 4 decode.type, 3 json.truncated\n"))
    }

    @Test func `a store is named from the root, so that two of one relative path are not the same`() {
        var configuration = WorkerConfiguration()
        configuration.store.path = "data/../data/a.sqlite"
        let location = FileManager.default.currentDirectoryPath + "/data/a.sqlite"
        #expect(configuration.storeLocation == location)
    }

    @Test func `without a worker the report says so, and why`() {
        var report = StatusReport(
            withoutWorker: "nobody answers at x",
            store: StatusReport.StoreState(path: "a", model: "Chat", bytes: nil, walBytes: nil),
            history: StatusReport.HistoryState(token: 0, notified: nil), deadLetters: 0, positions: [])
        #expect(report.sentence == "No worker answers; the store was read alone.")
        #expect(report.text.contains("asked          the store: nobody answers at x"))
        #expect(report.text.contains("No partition has a position yet"))
        // A file system that never has room.
        report.diskFault = DiskRoom(ofStore: "/proc/store.sqlite")?.fault
        #expect(report.text.contains("attention      0 MiB are free at /proc, and a chunk needs up to 16 MiB."))
    }

    @Test func `an answer that is not a worker's is refused`() {
        #expect(throws: DecodingError.self) { try StatusReport(worker: "w", status: Array("{}".utf8)) }
        #expect(HTTPGet.parse(Array("SSH-2.0-x\r\n\r\n".utf8)) == nil)
        #expect(HTTPGet.parse(Array("HTTP/1.1 200 OK".utf8)) == nil)
        let answer = HTTPGet.parse(Array("HTTP/1.1 401 Unauthorized\r\nA: b\r\n\r\nno".utf8))
        #expect(answer?.code == 401 && answer?.body == Array("no".utf8))
    }
}
