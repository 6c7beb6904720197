import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import ObjectGraph
import Synchronization

/// Asks a schema registry over HTTP. A request blocks its thread.
///
/// Redirects are not followed, so that credentials stay with the server that the configuration names.
final class RegistryClient: Sendable {
    private let addresses: [String]
    private let headers: HTTPHeaders
    private let tls: TLSConfiguration?
    private let timeout: TimeAmount
    /// The address that answered last. It is asked first: each silent one before it takes the whole timeout.
    private let answering = Atomic<Int>(0)

    private static let maximumAnswerBytes = 4 << 20
    /// One client for the process: it holds no connection for long.
    private static let http: HTTPClient = {
        var pool = HTTPClient.Configuration.ConnectionPool(idleTimeout: .seconds(10))
        // A server that refuses connections would take the whole time in which it may answer.
        pool.retryConnectionEstablishment = false
        return HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: HTTPClient.Configuration(redirectConfiguration: .disallow, connectionPool: pool))
    }()

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
        var (reason, isSilent) = ("schemaRegistry.url names no server", false)
        let first = answering.load(ordering: .relaxed)
        for index in addresses.indices.map({ (first + $0) % addresses.count }) {
            switch ask(addresses[index], path) {
            case .unavailable(let other): reason = other
            case .silent(let other): (reason, isSilent) = (other, true)
            case let answer:
                answering.store(index, ordering: .relaxed)
                return answer
            }
        }
        return isSilent ? .silent(reason: reason) : .unavailable(reason: reason)
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
            return .silent(reason: Self.reason(error))
        } catch is ResponseAccumulator.ResponseTooBigError {
            return .unusable(reason: "it has more than \(Self.maximumAnswerBytes) bytes")
        } catch {
            // Errors of connections and of TLS name hosts, addresses and certificates, and nothing of the request.
            return .silent(reason: "it cannot be reached: \(error)")
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
