import GraphCore
import HTTPFetch
import Synchronization

/// Asks a schema registry over HTTP. A request blocks its thread.
///
/// The fetcher follows no redirect, so that credentials stay with the server that the configuration names.
final class RegistryClient: Sendable {
    private let addresses: [String]
    private let fetcher: HTTPFetcher
    /// The fault of the token, or nil. A configuration that a program makes has passed no check, and a line end in the token
    /// would make further header fields.
    private let fault: String?
    /// The address that answered last. It is asked first: each silent one before it takes the whole timeout.
    private let answering = Atomic<Int>(0)

    private static let maximumAnswerBytes = 4 << 20

    init(_ configuration: SchemaRegistryConfiguration) {
        addresses = configuration.addresses
        var headers = ["accept: application/vnd.schemaregistry.v1+json, application/json"]
        fault = configuration.bearerToken.flatMap { SchemaRegistryConfiguration.faultOfSecret($0) }
        if let token = configuration.bearerToken {
            headers.append("authorization: Bearer \(token)")
        } else if let user = configuration.username {
            let pair = Array("\(user):\(configuration.password ?? "")".utf8)
            headers.append("authorization: Basic \(Base64Text.text(pair))")
        }
        fetcher = HTTPFetcher(
            .init(
                caFile: configuration.caFile, timeoutMilliseconds: configuration.timeoutSeconds * 1_000,
                maximumBytes: Self.maximumAnswerBytes),
            headers: headers)
    }

    /// Returns the first answer of an address that has one.
    func get(_ path: String) -> RegistryAnswer {
        if let fault { return .unavailable(reason: "schemaRegistry.bearerToken \(fault)") }
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
        do throws(HTTPFetcher.Failure) {
            let answer = try fetcher.get(address + path)
            return RegistryAnswer(status: answer.status, body: answer.body)
        } catch {
            switch error {
            case .late: return .silent(reason: "it does not answer within schemaRegistry.timeoutSeconds")
            case .closed: return .silent(reason: "it closes the connection without an answer")
            case .tooLong: return .unusable(reason: "it has more than \(Self.maximumAnswerBytes) bytes")
            case .unreachable(let reason): return .silent(reason: "it cannot be reached: \(reason)")
            }
        }
    }
}
