import Dispatch
import Foundation
import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

/// A feed over a store in memory, and the writer of that store.
final class FeedFixture: @unchecked Sendable {
    private let pipeline: PipelineFixture
    let feed: ChangeFeed
    let metrics = WorkerMetrics(version: "0", librdkafka: "0", sqlite: "0")
    private let configuration: NotificationConfiguration
    private var next = 0

    var writer: WriterContext { pipeline.writer }
    var store: Store { pipeline.store }
    let identity: String

    init(
        chunk: Int = 1, granularity: NotificationConfiguration.Granularity = .transaction, values: Bool = false,
        heartbeatSeconds: Double = 15
    ) throws {
        pipeline = try PipelineFixture { ($0.chunk.maxOperations, $0.commit.maxRows) = (chunk, 1) }
        identity = try pipeline.store.identity()
        var configuration = NotificationConfiguration()
        (configuration.granularity, configuration.values) = (granularity, values)
        self.configuration = configuration
        feed = try ChangeFeed(
            store: pipeline.store, configuration: configuration, metrics: metrics, logger: .silent,
            heartbeatSeconds: heartbeatSeconds)
    }

    /// Adds messages to one chat and commits.
    func add(_ count: Int, body: String = "Hello") throws {
        for _ in 0..<count {
            try pipeline.add(TestRecord(Events.message("m\(next)", body: body), offset: Int64(next)))
            next += 1
        }
        try pipeline.pipeline.finish()
    }

    /// The same for many, away from the few threads that run the tests: others wait for answers in time.
    func addMany(_ count: Int, body: String = "Hello") async throws {
        try await DispatchQueue(label: "feed-fixture").run { [self] in try add(count, body: body) }
    }

    /// The notifications that a topic gets.
    func expected(after token: Int64, limit: Int) throws -> [String] {
        let builder = NotificationBuilder(
            configuration: configuration, storeIdentity: identity, model: store.model)
        let transactions = try store.read { try $0.history(after: token, limit: limit) }
        return try transactions.flatMap { try builder.notifications(for: $0) }.compactMap(\.value)
    }

    func serve(
        _ change: (inout HTTPServerConfiguration) -> Void = { _ in }, _ body: (Int) async throws -> Void
    ) async throws {
        try await withServer(change, routes: [feed.route], body)
    }

    func waitForReaders(_ count: Int) async throws {
        while feed.readers != count { try await Task.sleep(for: .milliseconds(5)) }
    }
}

/// An answer of the feed, taken apart.
struct FeedAnswer: @unchecked Sendable {
    struct Event {
        let json: String
        let object: [String: Any]
        var data: [String: Any] { object["data"] as? [String: Any] ?? [:] }
        var entities: [String] {
            let changes = data["changes"] as? [[String: Any]] ?? [data]
            return changes.compactMap { $0["entity"] as? String }
        }
    }

    let status: Int
    let headers: [String: String]
    let body: String
    let events: [Event]
    let problem: [String: Any]?

    init(_ port: Int, _ path: String, headers: [String: String] = [:]) async throws {
        let connection = try #require(RawConnection(port: port))
        let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        connection.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(lines)\r\n")
        let answer = try #require(await RawAnswer(connection.readToEnd()))
        status = answer.status
        self.headers = answer.headers
        body =
            answer.headers["transfer-encoding"] == "chunked" ? Self.joined(chunks: answer.body) : answer.body
        problem = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        guard status == 200 else {
            events = []
            return
        }
        let array = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [[String: Any]])
        let texts = body.dropFirst().dropLast(2).components(separatedBy: ",\n")
        events = zip(texts, array).map { Event(json: $0, object: $1) }
    }

    private static func joined(chunks: String) -> String {
        var bytes = Array(chunks.utf8)[...]
        var result: [UInt8] = []
        while let end = bytes.firstIndex(of: 13) {
            let size = Int(String(decoding: bytes[..<end], as: UTF8.self), radix: 16) ?? 0
            let start = end + 2
            if size == 0 { break }
            result += bytes[start..<start + size]
            bytes = bytes[(start + size + 2)...]
        }
        return String(decoding: result, as: UTF8.self)
    }

    var tokens: [Int] { events.compactMap { $0.data["token"] as? Int } }

    /// The address of the next page.
    var next: String? {
        guard let link = headers["link"], let end = link.firstIndex(of: ">") else { return nil }
        return String(link[link.index(after: link.startIndex)..<end])
    }
}
