import GraphCore
import Hummingbird
import IngestCore
import NIOCore

/// Takes requests to the store's writer over HTTP: `POST /admin/…`, each the same request as over the control socket.
///
/// The server asks for the operator's token before it comes here. See `docs/how-to/security.md` for the order of checks.
struct AdministrationAPI: Sendable {
    private let desk: ControlDesk
    private let guardian: AdministrationGuard

    init(desk: ControlDesk, hosts: HTTPHosts) {
        self.desk = desk
        guardian = AdministrationGuard(hosts: hosts)
    }

    /// The path of a request, such as `/admin/dead-letters/drop` of `dead-letters.drop`.
    static func path(of name: String) -> String { "/admin/\(name.replacing(".", with: "/"))" }

    var routes: [HTTPRoute] {
        ControlRequest.names.map { name in
            var route = HTTPRoute(
                Self.path(of: name), method: .post, lasting: .administration, access: .operator
            ) { try await answer($0, name) }
            route.onRefusal = { [desk] in desk.refused(from: $0) }
            return route
        }
    }

    private func answer(_ request: Request, _ name: String) async throws -> Response {
        let key = try guardian.checkedKey(of: request)
        let asked = try await Self.request(name, request)
        let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let actor = "operator at \(HTTPRouting.client?.address ?? AnsweredClient.unknownAddress)"
        let ticket = ControlTicket(desk.envelope(asked, key: key), from: actor) { waker.yield() }
        desk.submit(ticket)
        let answers = AdministrationAnswers(ticket: ticket, wakes: wakes)
        if asked.givesLines { return try await answers.lines() }
        return try await answers.response(to: asked)
    }

    /// Reads the body as the arguments of a request.
    private static func request(_ name: String, _ request: Request) async throws -> ControlRequest {
        let body: ByteBuffer
        do {
            body = try await request.body.collect(upTo: ControlLine.maximumBytes)
        } catch is NIOTooManyBytesError {
            throw ControlError.tooLong
        }
        return try ControlLine.withObject(Array(body.readableBytesView)) { arguments in
            try ControlRequest(name: name, arguments: arguments)
        }
    }
}

/// The answers of the worker to one request, as they come.
private struct AdministrationAnswers: Sendable {
    let ticket: ControlTicket
    let wakes: AsyncStream<Void>

    /// The lines of progress that an answer holds at most.
    private static let maximumNotes = 100

    /// Waits for the result. The request goes on where the client goes away: its key brings the answer later.
    func response(to request: ControlRequest) async throws -> Response {
        var notes: [String] = []
        for await _ in wakes {
            for answer in ticket.takeAnswers().answers {
                switch answer {
                case .waiting, .step: break
                case .note(let text): if notes.count < Self.maximumNotes { notes.append(text) }
                case .failure(let error): throw error
                case .result(let result):
                    let object = JSONObject(["request": request.name, "result": result, "notes": notes])
                    return .bytes(Array("\(object.json)\n".utf8), type: "application/json")
                }
            }
        }
        throw ControlError.interrupted
    }

    /// Streams the lines of an export. A failure before the first line is the answer; a later one cuts the stream.
    func lines() async throws -> Response {
        var iterator = wakes.makeAsyncIterator()
        var first: [ControlAnswer] = []
        while await iterator.next() != nil {
            first = ticket.takeAnswers().answers.filter { $0 != .waiting }
            if !first.isEmpty { break }
        }
        if case .failure(let error) = first.first { throw error }
        let begun = first
        let interest = ClientInterest(ticket: ticket)
        let body = ResponseBody { writer in
            defer { interest.end() }
            var isLast = try await Self.write(begun, to: &writer)
            var iterator = wakes.makeAsyncIterator()
            while !isLast, await iterator.next() != nil {
                isLast = try await Self.write(ticket.takeAnswers().answers, to: &writer)
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/x-ndjson", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
                .contentDisposition: "attachment; filename=\"dead-letters.jsonl\"",
            ], body: body)
    }

    private static func write(_ answers: [ControlAnswer], to writer: inout any ResponseBodyWriter) async throws -> Bool
    {
        for answer in answers {
            switch answer {
            case .waiting, .step: break
            case .note(let line): try await writer.write(ByteBuffer(string: line + "\n"))
            case .result: return true
            case .failure(let error): throw error
            }
        }
        return false
    }
}

/// Gives a request up once its answer is written, or will not be: the server drops the answer to a client that has left.
private final class ClientInterest: Sendable {
    private let ticket: ControlTicket

    init(ticket: ControlTicket) { self.ticket = ticket }

    deinit { end() }

    func end() { ticket.abandon() }
}
