import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import ObjectGraph

/// Asks a schema registry over HTTP. A request blocks its thread.
///
/// Redirects are not followed, so that credentials stay with the server that the configuration names.
struct RegistryClient: Sendable {
    private let addresses: [String]
    private let headers: HTTPHeaders
    private let tls: TLSConfiguration?
    private let timeout: TimeAmount

    private static let maximumAnswerBytes = 4 << 20
    /// One client for the process: it holds no connection for long.
    private static let http = HTTPClient(
        eventLoopGroupProvider: .singleton,
        configuration: HTTPClient.Configuration(
            redirectConfiguration: .disallow, connectionPool: .init(idleTimeout: .seconds(10))))

    init(_ configuration: SchemaRegistryConfiguration) {
        addresses = configuration.addresses
        var headers = HTTPHeaders([("accept", "application/vnd.schemaregistry.v1+json, application/json")])
        if let token = configuration.bearerToken {
            headers.add(name: "authorization", value: "Bearer \(token)")
        } else if let user = configuration.username {
            let pair = Array("\(user):\(configuration.password ?? "")".utf8)
            headers.add(name: "authorization", value: "Basic \(Base64Text.text(pair))")
        }
        self.headers = headers
        timeout = .seconds(Int64(configuration.timeoutSeconds))
        if let path = configuration.caFile {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(path)
            self.tls = tls
        } else {
            tls = nil
        }
    }

    /// Returns the first answer of an address that has one.
    func get(_ path: String) -> RegistryAnswer {
        var answer = RegistryAnswer.unavailable(reason: "schemaRegistry.url names no server")
        for address in addresses {
            answer = ask(address, path)
            guard case .unavailable = answer else { break }
        }
        return answer
    }

    private func ask(_ address: String, _ path: String) -> RegistryAnswer {
        do {
            let request = try HTTPClient.Request(url: address + path, headers: headers, tlsConfiguration: tls)
            let answer = ResponseAccumulator(request: request, maxBodySize: Self.maximumAnswerBytes)
            let response = try Self.http.execute(
                request: request, delegate: answer, deadline: .now() + timeout
            ).wait()
            return RegistryAnswer(
                status: Int(response.status.code), body: response.body.map { Array($0.readableBytesView) } ?? [])
        } catch let error as HTTPClientError {
            return .unavailable(reason: Self.reason(error))
        } catch is ResponseAccumulator.ResponseTooBigError {
            return .unusable(reason: "it has more than \(Self.maximumAnswerBytes) bytes")
        } catch {
            // Errors of connections and of TLS name hosts, addresses and certificates, and nothing of the request.
            return .unavailable(reason: "it cannot be reached: \(error)")
        }
    }

    private static func reason(_ error: HTTPClientError) -> String {
        switch error {
        case .connectTimeout, .readTimeout, .deadlineExceeded:
            "it does not answer within schemaRegistry.timeoutSeconds"
        case .remoteConnectionClosed: "it closes the connection without an answer"
        default: "it cannot be reached: \(error.shortDescription)"
        }
    }
}
