import GraphCore
import Hummingbird
import IngestCore
import Logging
import ServiceLifecycle
import Synchronization

/// Serves the store's changes over HTTP: a page at a time (long poll), or as a stream of server-sent events.
///
/// The events are the same as in notifications. The feed keeps nothing for a reader. Each reader reads the history from
/// its own token, and the next page only when its connection has taken the last.
package final class ChangeFeed: Sendable {
    /// Where the feed is.
    package static let path = "/changes"

    private let stores: @Sendable () -> [FeedStore]
    private let metrics: WorkerMetrics?
    private let outages: OutageLog
    private let heartbeatSeconds: Double
    private let readerCount = Mutex(0)
    /// The pages without a wanted change that one long poll passes at most.
    private static let maximumPagesPassed = 40
    /// The longest wait without looking: a change may come from another process.
    private static let longestWaitSeconds = 1.0

    /// Makes the feed of a store.
    ///
    /// - Parameters:
    ///   - store: where the changes are read.
    ///   - configuration: the form of the events.
    ///   - metrics: gets the readers and events.
    ///   - logger: gets failures.
    ///   - outages: writes failures that repeat; nil makes one.
    ///   - heartbeatSeconds: the time after which a silent stream gets a comment.
    /// - Throws: `StoreError`.
    package convenience init(
        store: Store, configuration: NotificationConfiguration, metrics: WorkerMetrics? = nil, logger: Logger,
        outages: OutageLog? = nil, heartbeatSeconds: Double = 15
    ) throws {
        let source = try FeedStore(store, configuration, metrics: metrics)
        self.init(
            stores: { [source] }, metrics: metrics, outages: outages ?? OutageLog(logger: logger),
            heartbeatSeconds: heartbeatSeconds)
    }

    /// Makes the feed of several stores.
    ///
    /// - Parameter stores: returns the stores that are open, by their partitions.
    init(
        stores: @escaping @Sendable () -> [FeedStore], metrics: WorkerMetrics? = nil, outages: OutageLog,
        heartbeatSeconds: Double = 15
    ) {
        (self.stores, self.metrics, self.outages) = (stores, metrics, outages)
        self.heartbeatSeconds = heartbeatSeconds
    }

    /// The store of this feed as one of several.
    func stores(ofPartition partition: Int32) -> [FeedStore] {
        stores().map { FeedStore($0, ofPartition: partition) }
    }

    /// The number of readers at present.
    package var readers: Int { readerCount.withLock { $0 } }

    /// Answers `/changes`.
    package var route: HTTPRoute {
        HTTPRoute(Self.path, lasting: .stream) { [self] in try await respond(to: $0) }
    }

    /// Answers a request: with a page, a stream, or what is wrong.
    func respond(to request: Request) async throws -> Response {
        do {
            let stores = stores()
            guard let first = stores.first else { throw FeedRefusal.noStore }
            let asked = try FeedRequest(request, model: first.store.model)
            let reader = try await FeedReaders(stores, asked)
            if request.method == .head { return Response(status: .ok, headers: Self.headers(asked.isStream)) }
            return asked.isStream ? stream(reader) : try await poll(asked, reader)
        } catch {
            let refusal = try refusal(error)
            return await refusal.response(latest: latest(for: refusal))
        }
    }

    /// The present position, where the reader has to go on from it.
    private func latest(for refusal: FeedRefusal) async -> String? {
        if !refusal.isExpired { return nil }
        var positions = StorePositions()
        for store in stores() {
            guard let token = try? await store.reads.read({ try $0.historyToken() }) else { return nil }
            guard let partition = store.partition else { return "\(token)" }
            positions[partition] = "\(token)"
        }
        return "\(positions)"
    }

    /// Turns a failure into the reader's answer; rethrows a failure of the program.
    private func refusal(_ error: any Error) throws -> FeedRefusal {
        let refusal = (error as? FeedRefusal) ?? (error as? StoreError).map { FeedRefusal($0) }
        guard let refusal else { throw error }
        if let cause = refusal.cause, refusal.status == .serviceUnavailable {
            outages.repeated(.warning, "the feed cannot read the store", ["reason": "\(cause)"])
        }
        return refusal
    }

    private static func headers(_ isStream: Bool) -> HTTPFields {
        [
            .contentType: isStream ? "text/event-stream" : "application/cloudevents-batch+json; charset=utf-8",
            .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        ]
    }

    // MARK: Long poll

    /// Waits for a page with events, until the time is over, and answers with it.
    private func poll(_ request: FeedRequest, _ start: FeedReaders) async throws -> Response {
        count(1)
        defer { count(-1) }
        var reader = start
        let end = ContinuousClock.now + .seconds(request.waitSeconds)
        var passed = 0
        while true {
            let generations = reader.generations
            let page = try await reader.next(limit: request.limit)
            passed += 1
            if !page.events.isEmpty || page.isOpen { return batch(page, reader, request) }
            if page.isAtEnd {
                let rest = Self.seconds(end - ContinuousClock.now)
                if rest <= 0 || Task.isShuttingDownGracefully || Task.isCancelled {
                    return batch(page, reader, request)
                }
                await reader.wait(after: generations, timeout: .seconds(min(rest, Self.longestWaitSeconds)))
            } else if passed >= Self.maximumPagesPassed {
                // Much was passed over: the reader hears how far it is, and asks again.
                return batch(page, reader, request)
            }
        }
    }

    private func batch(_ first: FeedPage, _ start: FeedReaders, _ request: FeedRequest) -> Response {
        var headers = Self.headers(false)
        headers[Self.tokenHeader] = start.reached
        headers[Self.linkHeader] = "<\(nextAddress(start.reached, request))>; rel=\"next\""
        guard first.isOpen else { return Response(status: .ok, headers: headers, body: body(of: first, start)) }
        // A large transaction: its pages are read while they are written.
        let body = ResponseBody { [self] writer in
            count(1)
            defer { count(-1) }
            var (page, reader) = (first, start)
            var separator = "["
            while true {
                for event in page.events {
                    try await writer.write(ByteBuffer(string: separator + event.json))
                    separator = ",\n"
                }
                reader.note(page)
                guard page.isOpen else { break }
                page = try await reader.next(limit: 1)
            }
            try await writer.write(ByteBuffer(string: separator == "[" ? "[]\n" : "]\n"))
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    private func body(of page: FeedPage, _ reader: FeedReaders) -> ResponseBody {
        reader.note(page)
        var buffer = ByteBuffer(string: "[")
        for (index, event) in page.events.enumerated() {
            if index > 0 { buffer.writeString(",\n") }
            buffer.writeString(event.json)
        }
        buffer.writeString("]\n")
        return ResponseBody(byteBuffer: buffer)
    }

    private func nextAddress(_ token: String, _ request: FeedRequest) -> String {
        var address = "\(request.path)?after=\(token)&limit=\(request.limit)"
        if request.waitSeconds != FeedRequest().waitSeconds { address += "&wait=\(request.waitSeconds)" }
        if !request.entities.isEmpty { address += "&entity=\(request.entities.sorted().joined(separator: ","))" }
        if let granularity = request.granularity { address += "&granularity=\(granularity.rawValue)" }
        return address
    }

    // swift-format-ignore: NeverForceUnwrap
    private static let tokenHeader = HTTPFields.Element.Name("Ingest-Token")!
    // swift-format-ignore: NeverForceUnwrap
    private static let linkHeader = HTTPFields.Element.Name("Link")!

    // MARK: Stream

    private func stream(_ start: FeedReaders) -> Response {
        var headers = Self.headers(true)
        // Proxies that gather an answer before they pass it on would silence the stream.
        headers[Self.bufferingHeader] = "no"
        let client = HTTPRouting.client
        let body = ResponseBody { [self] writer in
            count(1)
            defer { count(-1) }
            do {
                try await write(from: start, to: &writer, for: client)
            } catch {
                let refusal = try refusal(error)
                let name = refusal.isExpired ? "expired" : "failed"
                let json = refusal.json(latest: await latest(for: refusal))
                try await writer.write(ByteBuffer(string: "event: \(name)\ndata: \(json)\n\n"))
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    // swift-format-ignore: NeverForceUnwrap
    private static let bufferingHeader = HTTPFields.Element.Name("X-Accel-Buffering")!

    private func write(
        from start: FeedReaders, to writer: inout any ResponseBodyWriter, for client: AnsweredClient?
    ) async throws {
        var reader = start
        var lastWrite = ContinuousClock.now
        // The first bytes tell the reader that it is served, and where it stands.
        try await writer.write(ByteBuffer(string: "retry: 2000\nid: \(reader.finished)\n\n"))
        // A store that comes or goes ends the stream: the reader connects again where it stands.
        while !Task.isShuttingDownGracefully, !Task.isCancelled, client?.hasLeft != true,
            stores().map(\.partition) == reader.partitions
        {
            let generations = reader.generations
            let page = try await reader.next(limit: FeedRequest().limit)
            for (event, position) in zip(page.events, reader.positions(of: page)) {
                // Suspends until the connection has room: a reader that does not read is not read for.
                try await writer.write(ByteBuffer(string: text(of: event, at: position)))
                lastWrite = .now
            }
            reader.note(page)
            var silence = Self.seconds(.now - lastWrite)
            if silence >= heartbeatSeconds {
                // The id is what a reader of few entities has passed meanwhile.
                try await writer.write(ByteBuffer(string: ": heartbeat\nid: \(reader.finished)\n\n"))
                lastWrite = .now
                silence = 0
            }
            if page.isAtEnd {
                let rest = max(0.001, heartbeatSeconds - silence)
                await reader.wait(after: generations, timeout: .seconds(min(rest, Self.longestWaitSeconds)))
            }
        }
    }

    private func text(of event: FeedEvent, at position: String?) -> String {
        // Only what finishes a token has an id: a reader that breaks off before gets the whole transaction again.
        let id = position.map { "id: \($0)\n" } ?? ""
        let data = event.json.contains("\n") ? event.json.replacing("\n", with: "\ndata: ") : event.json
        return "\(id)data: \(data)\n\n"
    }

    // MARK: Counting

    private func count(_ change: Int) {
        readerCount.withLock { count in
            count += change
            metrics?.feedReaders.set(count)
        }
    }

    private static func seconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
