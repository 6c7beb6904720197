import Foundation

/// A connection of libpq to a server that passes through the tests, which hold each statement back until its turn.
///
/// Behind each statement it asks the server for the answer at once, so that statements of one round trip have turns too.
/// Source: PostgreSQL's documentation, Frontend/Backend Protocol, Message Formats.
final class RelayedConnection {
    /// What a client wants to do next: the messages up to the one that lets the server work.
    struct Statement {
        let bytes: [UInt8]
        /// The type of the last message.
        let kind: UInt8
        /// The beginning of the statement, for people.
        let text: String
    }

    let actor: Int
    private(set) var client: Int32
    private(set) var server: Int32
    /// The number of the server's process.
    private(set) var process: Int64 = 0
    private var fromClient: [UInt8] = []
    private var fromServer: [UInt8] = []
    /// Whether the server has not taken the client's greeting yet.
    private var isGreeting = true
    private var isStarting = true
    /// The type of the message whose answer is under way.
    private var awaited: UInt8?
    /// Whether the server skips all up to the end of the round trip.
    private var isFailed = false
    /// How often actors had let locks go when the statement under way was last seen to wait for one; nil where it was not.
    var blockedAtRelease: Int?
    /// How often the connection may have let locks go: each end of a transaction, or of a part that is undone.
    private(set) var releases = 0
    /// Whether the answers go astray, and the connection ends behind them.
    private var losesAnswer = false
    private var texts: [String: String] = [:]
    private var boundText = ""
    /// The codes of the errors that the server has sent.
    private(set) var errors: [String] = []
    private(set) var next: Statement?

    init(actor: Int, client: Int32, server: Int32) {
        (self.actor, self.client, self.server) = (actor, client, server)
    }

    var isOpen: Bool { client >= 0 }
    var isAtWork: Bool { awaited != nil }

    /// Ends both sides. The server's process ends its side last, behind its transaction.
    func end(waitsForServer: Bool = false) {
        if client >= 0 { close(client) }
        if server >= 0 {
            shutdown(server, Int32(SHUT_WR))
            while waitsForServer, Self.read(server) != nil {}
            close(server)
        }
        (client, server, awaited, next, blockedAtRelease) = (-1, -1, nil, nil, nil)
    }

    // MARK: From the client

    /// Reads what the client has sent; false at its end.
    func readClient() -> Bool {
        guard let bytes = Self.read(client) else { return false }
        fromClient += bytes
        advance()
        return true
    }

    /// Lets the server carry out the next statement.
    func carryOut(losingAnswer: Bool = false) {
        guard let statement = next else { return }
        next = nil
        awaited = statement.kind
        losesAnswer = losingAnswer
        // The message Flush.
        Self.write(server, statement.bytes + (statement.kind == Self.execute ? [0x48, 0, 0, 0, 4] : []))
    }

    private static let execute = UInt8(ascii: "E")
    private static let sync = UInt8(ascii: "S")

    /// Finds the next statement in what the client has sent. What needs no turn goes on to the server.
    private func advance() {
        while isGreeting, let length = number(fromClient, 0), fromClient.count >= length {
            Self.write(server, Array(fromClient.prefix(length)))
            fromClient.removeFirst(length)
            isGreeting = false
        }
        if isGreeting || isStarting || next != nil || awaited != nil { return }
        var end = 0
        while let length = number(fromClient, end + 1), fromClient.count > end + length {
            let kind = fromClient[end]
            let body = fromClient[(end + 5)..<(end + 1 + length)]
            note(kind, body)
            end += 1 + length
            if kind == Self.execute || kind == Self.sync || kind == UInt8(ascii: "X") {
                let bytes = Array(fromClient.prefix(end))
                fromClient.removeFirst(end)
                end = 0
                if take(kind, bytes) { return }
            }
        }
    }

    /// Takes the messages of a statement; true where it waits for its turn.
    private func take(_ kind: UInt8, _ bytes: [UInt8]) -> Bool {
        if kind == UInt8(ascii: "X") || isFailed && kind == Self.execute {
            Self.write(server, bytes)
            return false
        }
        next = Statement(bytes: bytes, kind: kind, text: kind == Self.sync ? "sync" : boundText)
        // The end of a failed round trip has no effect.
        if isFailed { carryOut() }
        return true
    }

    private func note(_ kind: UInt8, _ body: ArraySlice<UInt8>) {
        let parts = body.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        if kind == UInt8(ascii: "P"), parts.count > 1 { texts[parts[0]] = parts[1] }
        if kind == UInt8(ascii: "B"), parts.count > 1 { boundText = texts[parts[1]] ?? "" }
    }

    // MARK: From the server

    /// Reads what the server has sent, and hands it to the client; false at its end.
    func readServer() -> Bool {
        guard let bytes = Self.read(server) else { return false }
        if !losesAnswer { Self.write(client, bytes) }
        fromServer += bytes
        var start = 0
        while let length = number(fromServer, start + 1), fromServer.count > start + length {
            noteAnswer(fromServer[start], Array(fromServer[(start + 5)..<(start + 1 + length)]))
            start += 1 + length
        }
        fromServer.removeFirst(start)
        if losesAnswer, awaited == nil { return false }
        advance()
        return true
    }

    private func noteAnswer(_ kind: UInt8, _ body: [UInt8]) {
        switch kind {
        case UInt8(ascii: "K"): process = Int64(number(body, 0) ?? 0)
        case UInt8(ascii: "Z"):
            isStarting = false
            isFailed = false
            if body.first == UInt8(ascii: "I") { releases += 1 }
            answered(Self.sync)
        case UInt8(ascii: "C"), UInt8(ascii: "I"), UInt8(ascii: "s"):
            if body.starts(with: "ROLLBACK".utf8) || body.starts(with: "COMMIT".utf8) { releases += 1 }
            answered(Self.execute)
        case UInt8(ascii: "E"):
            let fields = body.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            errors += fields.filter { $0.hasPrefix("C") }.map { String($0.dropFirst()) }
            isFailed = true
            releases += 1
            answered(Self.execute)
        default: break
        }
    }

    private func answered(_ kind: UInt8) {
        if awaited == kind { (awaited, blockedAtRelease) = (nil, nil) }
    }

    // MARK: Bytes

    private func number(_ bytes: [UInt8], _ place: Int) -> Int? {
        guard bytes.count >= place + 4 else { return nil }
        return bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
    }

    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    private static func write(_ descriptor: Int32, _ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                send(descriptor, buffer.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            // The end shows when the connection is read.
            if count <= 0 { return }
            sent += count
        }
    }
}
