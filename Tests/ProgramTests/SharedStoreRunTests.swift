import Foundation
import KafkaClient
import TestSupport
import Testing

/// Four workers of one consumer group that share a store in a PostgreSQL server.
@Suite(.serialized, .timeLimit(.minutes(60))) struct SharedStoreRunTests {
    private let server: PostgresServer
    /// Unlike the broker processes of the tests, it shares partitions out again when a member is gone.
    private let broker: EmbeddedBroker
    private let workspace: Workspace
    private let schema: String
    private let topic = "events-\(UUID().uuidString.prefix(8))"
    private let changes = "changes-\(UUID().uuidString.prefix(8))"

    init() throws {
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
        broker = try EmbeddedBroker()
        workspace = try Workspace()
        try broker.createTopic(topic, partitions: 8)
        try broker.createTopic(changes, partitions: 1)
    }

    private func settings(_ own: [String]) -> [String] {
        let shared = [
            "topics=\(topic)", "http.port=0", "kafka.bootstrap.servers=\(broker.bootstrapServers)",
            "kafka.session.timeout.ms=6000", "kafka.heartbeat.interval.ms=500", "chunk.maxOperations=40",
            "chunk.maxBacklogOperations=1", "lease.ttlSeconds=2",
        ]
        return (shared + own).flatMap { ["--set", $0] }
    }

    private var sharedStore: [String] {
        settings([
            "store.url=\(server.url)&schema=\(schema)", "store.writers=many", "kafka.group.id=\(schema)",
            "notifications.topic=\(changes)",
        ])
    }

    private func start(_ number: Int) throws -> Program {
        // The socket of requests stands in the folder of the path.
        let environment = ["INGEST_STORE_PATH": workspace.path("socket-\(number)/none.sqlite")]
        return try Program(["run"] + sharedStore, environment: environment)
    }

    private func query(_ sql: String) -> Int { (try? server.query(sql)).flatMap { Int($0) } ?? 0 }

    private func readCount() -> Int { query("SELECT coalesce(sum(\"nextOffset\"), 0) FROM \(schema)._position") }

    // MARK: Events

    /// An event whose effect does not depend on the order across partitions: versions and times decide.
    private func line(_ number: Int) -> String {
        let (chat, member) = ("c\(number % 23)", "p\(number % 17)")
        func event(_ id: String, _ type: String, _ second: Int, _ data: String) -> String {
            let time = "2026-01-01T00:\(second / 60 % 60 < 10 ? "0" : "")\(second / 60 % 60):00Z"
            return #"\#(id)|{"specversion":"1.0","id":"\#(number)","source":"/t","type":"\#(type)","time":"\#(time)","#
                + #""data":{\#(data)}}"#
        }
        switch number % 20 {
        case 0:
            // In one partition, for the links that an event adds go with its version.
            return event(
                "chat-\(chat)", "chat.upserted", 60,
                #""id":"\#(chat)","title":"title \#(number)","updatedAt":"2026-01-01T00:00:00.\#(100_000 + number)Z","#
                    + #""members":{"add":["\#(member)"]}"#)
        case 1:
            return event(
                "member-\(number)", "member.upserted", 60,
                #""id":"\#(member)","name":"name \#(number)","updatedAt":"2026-01-01T00:00:00.\#(100_000 + number)Z""#)
        case 2 where number % 23 > 18:
            // Chats with high numbers are deleted, later than all that is said of them.
            return event("deletion-\(number)", "chat.deleted", 1200, #""id":"\#(chat)""#)
        default:
            return event(
                "m\(number)", "message.upserted", 60,
                #""id":"m\#(number)","chat":"\#(chat)","sender":"\#(member)","body":"text \#(number)""#)
        }
    }

    private func send(_ range: Range<Int>) throws {
        _ = try Kcat.run(
            ["-P", "-b", broker.bootstrapServers, "-t", topic, "-K", "|"],
            input: range.map(line).joined(separator: "\n") + "\n")
    }

    private func dump(_ arguments: [String]) throws -> String {
        let result = try Program.run(["verify", "--dump"] + arguments)
        try #require(result.status == 0, "\(result.errors)")
        try #require(result.output.count > 1000)
        return result.output
    }

    /// The tokens of all notifications.
    private func notifiedTokens() throws -> Set<Int> {
        let consumer = try Consumer(withoutGroup: [
            "bootstrap.servers": broker.bootstrapServers, "group.id": "reader", "enable.partition.eof": "true",
        ])
        defer { try? consumer.close() }
        try consumer.assign(adding: [TopicPartition(changes, 0): 0])
        var found: Set<Int> = []
        try TestSupport.wait(for: "the end of the notifications", everyMilliseconds: 0) {
            let batch = try consumer.poll(maxRecords: 1000, timeoutMilliseconds: 200)
            for value in batch.map(ReadRecord.init).compactMap(\.value) {
                let id = try #require(value.firstMatch(of: /"id":"([0-9]+)[0-9.]*","source"/), "\(value)")
                found.insert(try #require(Int(id.1)))
            }
            return batch.errors.contains { $0.error.code == .partitionEnd }
        }
        return found
    }

    /// Waits until something holds; where it does not come to it, the workers' logs say why.
    private func wait(for what: String, _ programs: [Program], until condition: () -> Bool) throws {
        do {
            try TestSupport.wait(for: what, everyMilliseconds: 20, until: condition)
        } catch {
            let logs = programs.map { "\($0.isRunning)\n\($0.errors.suffix(2500))" }
            throw BrokerProcess.Failure(
                description: "\(error) with \(readCount()) events\n" + logs.joined(separator: "\n"))
        }
    }

    // MARK: Tests

    @Test func `killed, stopped and cut off, four workers leave the store of one`() throws {
        var random = SeededRandom.forTest("SharedStoreRunTests")
        let (count, rounds) = (4_800, 6)
        let deadlocks = query("SELECT sum(deadlocks) FROM pg_stat_database")
        var programs = try (0..<4).map(start)
        for round in 0..<rounds {
            try send(count / rounds * round..<count / rounds * (round + 1))
            let aim = count / rounds * round + random.number(below: count / rounds)
            try wait(for: "a part", programs) { readCount() >= aim }
            let victim = random.number(below: programs.count)
            switch round % 3 {
            case 0:
                try programs[victim].crash()
                programs[victim] = try start(victim)
            case 1:
                // Long enough that the group gives its partitions away, and its transaction ends.
                programs[victim].send(SIGSTOP)
                let before = readCount()
                try TestSupport.wait(for: "the others") {
                    readCount() > before || before >= count / rounds * (round + 1)
                }
                usleep(8_000_000)
                programs[victim].send(SIGCONT)
            default:
                _ = try server.query(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'ingest'")
            }
        }
        try wait(for: "all events", programs) { readCount() == count }
        let tokens = "SELECT count(*) FROM \(schema)._history_transaction"
        try TestSupport.wait(for: "the end of the notifications", everyMilliseconds: 50) {
            query("SELECT max(token) FROM \(schema)._cursor") == query(tokens)
        }
        for program in programs {
            program.send(SIGTERM)
            let ended = try program.wait()
            #expect(ended.status == 0, "\(ended.errors.suffix(3000))")
        }
        let last = query(tokens)
        #expect(last == query("SELECT max(token) FROM \(schema)._history_transaction"))
        #expect(last == query("SELECT token FROM \(schema)._token"))
        #expect(try notifiedTokens() == Set(1...last))
        #expect(query("SELECT sum(deadlocks) FROM pg_stat_database") == deadlocks)
        // One worker with a store in a file reads the same topic.
        let file = settings(["store.path=\(workspace.path("one.sqlite"))", "kafka.group.id=one"])
        let one = try Program(["run"] + file)
        try one.wait(for: "the end of the topic") {
            let sql = "SELECT coalesce(sum(nextOffset), 0) FROM _position"
            return (try? Foreign.sqlite(workspace.path("one.sqlite"), sql)) == "\(count)"
        }
        one.send(SIGTERM)
        try one.expectGoodEnd()
        let (shared, single) = (try dump(sharedStore), try dump(file))
        #expect(shared.contains("tombstones\n  Chat \"c19\""))
        // The whole dumps would fill a report.
        let isSame = shared == single
        #expect(
            isSame,
            "\(Set(shared.split(separator: "\n")).symmetricDifference(single.split(separator: "\n")).prefix(20))")
    }
}
