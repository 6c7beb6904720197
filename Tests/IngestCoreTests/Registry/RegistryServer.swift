import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import NIOSSL
import Synchronization
import TestSupport

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
            if answer.isSilent { try await Task.sleep(for: .seconds(3_600)) }
            var response = Response(
                status: .init(code: answer.status), body: .init(byteBuffer: ByteBuffer(string: answer.body)))
            if let location = answer.location { response.headers[.location] = location }
            return response
        }
    }

    let port: Int
    private let isSecure: Bool
    private let state: State
    private let reserved: ReservedPort?
    private let task: Task<Void, any Error>

    var url: String { "\(isSecure ? "https" : "http")://localhost:\(port)" }
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
        var server = HTTPServerBuilder.http1()
        if let certificate {
            let chain = try NIOSSLCertificate.fromPEMFile(certificate).map { NIOSSLCertificateSource.certificate($0) }
            let key = try NIOSSLPrivateKey(file: certificate, format: .pem)
            server = try .tls(
                server,
                tlsConfiguration: .makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key)))
        }
        let application = Application(
            router: router, server: server,
            configuration: .init(address: .hostname("127.0.0.1", port: reserved.number)),
            onServerRunning: { _ in started.finish() })
        (self.port, self.state, self.reserved, isSecure) = (reserved.number, state, reserved, certificate != nil)
        task = Task {
            defer { started.finish() }
            try await application.run()
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
