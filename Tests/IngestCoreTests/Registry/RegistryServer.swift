import Foundation
import Hummingbird
import HummingbirdCore
import IngestCore
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport

@testable import Operations

/// A schema registry that speaks its REST interface over a socket.
final class RegistryServer: Sendable {
    struct Answer: Sendable {
        var status = 200
        var body: String
        /// Where the answer redirects to, or nil.
        var location: String?
        /// Whether nothing is answered for as long as the server runs.
        var isSilent = false

        /// The answer with a schema.
        static func schema(_ text: String, type: String = "AVRO") -> Answer {
            let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            return Answer(body: #"{"schemaType":"\#(type)","schema":"\#(escaped)"}"#)
        }

        static let missing = Answer(status: 404, body: #"{"error_code":40403,"message":"Schema not found"}"#)
    }

    struct Request: Sendable, Equatable {
        let path: String
        let authorization: String?
    }

    private final class State: Sendable {
        let answers: Mutex<[String: Answer]>
        let requests = Mutex<[Request]>([])

        init(_ answers: [String: Answer]) { self.answers = Mutex(answers) }

        func answer(_ request: Hummingbird.Request) async throws -> Response {
            let path = request.uri.path
            requests.withLock { $0.append(Request(path: path, authorization: request.headers[.authorization])) }
            let answer = answers.withLock { $0[path] } ?? .missing
            if answer.isSilent { try await gracefulShutdown() }
            var response = Response(
                status: .init(code: answer.status), body: .init(byteBuffer: ByteBuffer(string: answer.body)))
            if let location = answer.location { response.headers[.location] = location }
            return response
        }
    }

    let port: Int
    private let front: TLSFront?
    private let state: State
    private let reserved: ReservedPort?
    private let task: Task<Void, any Error>

    var url: String { front.map { "https://localhost:\($0.port)" } ?? "http://localhost:\(port)" }
    var requests: [Request] { state.requests.withLock { $0 } }

    /// Starts with answers by path; other paths have none.
    ///
    /// - Parameter certificate: the file with a certificate and its key, for TLS.
    init(_ answers: [String: Answer], port: ReservedPort? = nil, certificate: String? = nil) async throws {
        let reserved = try port ?? ReservedPort()
        let state = State(answers)
        let router = Router()
        router.get("**") { request, _ in try await state.answer(request) }
        let (running, started) = AsyncStream<Void>.makeStream()
        let application = GracefulServer(
            responder: router.buildResponder(), server: .http1(),
            configuration: .init(address: .hostname("127.0.0.1", port: reserved.number)),
            logger: Logger(label: "registry") { _ in SwiftLogNoOpLogHandler() }, onBound: { _ in started.finish() })
        (self.port, self.state, self.reserved) = (reserved.number, state, reserved)
        front = try certificate.map { try TLSFront(server: reserved.number, certificate: $0) }
        task = Task {
            defer { started.finish() }
            try await application.run {}
        }
        for await _ in running {}
    }

    func set(_ path: String, _ answer: Answer) { state.answers.withLock { $0[path] = answer } }

    func stop() async {
        task.cancel()
        _ = await task.result
    }

    deinit { task.cancel() }
}
