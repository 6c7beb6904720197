import Foundation
import ObjectGraph
import Synchronization
import TestSupport

@testable import GraphCore
@testable import PostgresStorage

/// Lets threads with connections to a server run one statement at a time, in an order that a list of turns decides.
///
/// An actor goes on until it ends, waits for a lock of another one, or a turn names another. The next statement begins
/// once every actor has one to send, waits for a lock, or has ended. So equal turns give equal runs.
final class StatementScheduler {
    /// A change of the order at a statement, counted from the first one.
    enum Turn: Hashable {
        /// The actor goes on that comes so many places behind the one whose turn it was, if it can.
        case pass(by: Int)
        /// The connection is lost before the statement, or behind it and before its answer.
        case cut(losesAnswer: Bool)
    }

    private let folder: String
    private let socket: String
    private let monitor: PostgresConnection
    private var listeners: [Int32] = []
    private var connections: [RelayedConnection] = []
    private let turns: [Int: [Turn]]
    private let ends: Ends
    private let wake: Pipe
    private var current = 0
    private(set) var statementCount = 0
    private(set) var cutCount = 0
    private(set) var blockedCount = 0
    /// How often connections that have ended may have let locks go.
    private var endedCount = 0
    /// The codes of the server's errors.
    private(set) var errors: [String] = []
    /// The statements of each actor's turns.
    private(set) var story: [(actor: Int, texts: [String])] = []

    /// Which actors have ended.
    fileprivate final class Ends: Sendable {
        let ended = Mutex<Set<Int>>([])
        let mayCut = Mutex<Set<Int>>([])
    }

    struct Stuck: Error, CustomStringConvertible {
        let description: String
    }

    init(_ server: PostgresServer, actors: Int, turns: [Int: [Turn]]) throws {
        folder = "/tmp/ingest-turns-\(UUID().uuidString.prefix(8))"
        socket = String(server.url.split(separator: "=").last ?? "") + "/.s.PGSQL.5432"
        monitor = try PostgresConnection(
            ConnectionAddress(server.url, schema: "public"), .reader, lockTimeoutMilliseconds: 1000)
        self.turns = turns
        ends = Ends()
        wake = Pipe()
        for actor in 0..<actors {
            try FileManager.default.createDirectory(atPath: path(of: actor), withIntermediateDirectories: true)
            let listener = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            let listens = Self.withAddress(path(of: actor) + "/.s.PGSQL.5432") { bind(listener, $0, $1) == 0 }
            guard listens, listen(listener, 16) == 0 else { throw Stuck(description: "no socket in \(folder)") }
            listeners.append(listener)
        }
    }

    deinit {
        for connection in connections { connection.end() }
        for listener in listeners { close(listener) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func path(of actor: Int) -> String { "\(folder)/\(actor)" }

    /// The URL by which an actor reaches the server.
    func url(of actor: Int) -> String { "postgres://postgres@/postgres?host=\(path(of: actor))" }

    private static func withAddress<Result>(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    // MARK: Actors

    /// What an actor tells the scheduler.
    struct Actor: Sendable {
        fileprivate let number: Int
        fileprivate let ends: Ends

        /// Connections of the actor may be lost from now on, or no more.
        func mayLoseConnections(_ may: Bool) {
            ends.mayCut.withLock { if may { $0.insert(number) } else { $0.remove(number) } }
        }
    }

    /// Runs an actor for each body to its end.
    func run(_ bodies: [@Sendable (Actor) throws -> Void]) throws {
        let writing = wake.fileHandleForWriting.fileDescriptor
        let threads = bodies.enumerated().map { number, body in
            let actor = Actor(number: number, ends: ends)
            return Background { [ends] in
                defer {
                    ends.ended.withLock { _ = $0.insert(number) }
                    _ = write(writing, [0], 1)
                }
                try body(actor)
            }
        }
        do { try schedule() } catch {
            // The actors end with an error of their own.
            for connection in connections { connection.end() }
            for listener in listeners { close(listener) }
            listeners = []
            for thread in threads { try? thread.value() }
            throw error
        }
        errors += connections.flatMap(\.errors)
        for thread in threads { try thread.value() }
    }

    private func schedule() throws {
        var stillness = Stillness()
        while ends.ended.withLock({ $0.count }) < listeners.count {
            let isQuiet = try !relay(milliseconds: connections.contains(where: mayWait) ? 1 : 50)
            if !isQuiet {
                stillness = Stillness()
            } else if stillness.isTooLong() {
                throw Stuck(description: "nothing moves any more:\n\(lastTurns)")
            }
            guard try isStill(isQuiet: isQuiet), let connection = choose() else { continue }
            try advance(connection)
        }
    }

    /// Whether it is unknown if a statement under way waits for a lock. A known wait goes on until somebody lets a lock go.
    private func mayWait(_ connection: RelayedConnection) -> Bool {
        connection.isAtWork && connection.blockedAtRelease != releases
    }

    /// How often an actor may have let locks go.
    private var releases: Int { endedCount + connections.reduce(0) { $0 + $1.releases } }

    /// Whether every actor has a statement to send, waits for a lock, or has ended.
    ///
    /// - Parameter isQuiet: whether nothing came for a moment. Only then the server is asked who waits.
    private func isStill(isQuiet: Bool) throws -> Bool {
        for connection in connections where mayWait(connection) {
            guard isQuiet, try waitsForActor(connection) else { return false }
            if connection.blockedAtRelease == nil { blockedCount += 1 }
            connection.blockedAtRelease = releases
        }
        let ended = ends.ended.withLock { $0 }
        return listeners.indices.allSatisfy { actor in
            ended.contains(actor)
                || connections.contains { $0.actor == actor && ($0.next != nil || $0.isAtWork) }
        }
    }

    private func waitsForActor(_ connection: RelayedConnection) throws -> Bool {
        var statement = PostgresStatement(
            "SELECT count(*) FROM unnest(pg_blocking_pids($1::int8::int4)) AS b(pid) WHERE pid = ANY($2::int8[])")
        statement.bind(connection.process, connections.map(\.process))
        return try monitor.run(statement).first?.integer(0) != 0
    }

    /// Returns the connection whose statement is next, or nil where all wait for each other.
    private func choose() -> RelayedConnection? {
        var first = current
        for case .pass(let places) in turns[statementCount] ?? [] { first += places }
        for offset in listeners.indices {
            let actor = (first + offset) % listeners.count
            if let found = connections.first(where: { $0.actor == actor && $0.next != nil }) {
                current = actor
                return found
            }
        }
        return nil
    }

    private func advance(_ connection: RelayedConnection) throws {
        let text = connection.next?.text ?? ""
        var losesAnswer: Bool?
        for case .cut(let loses) in turns[statementCount] ?? []
        where ends.mayCut.withLock({ $0.contains(connection.actor) }) { losesAnswer = loses }
        tell(connection.actor, text, losesAnswer)
        statementCount += 1
        if losesAnswer != nil { cutCount += 1 }
        if losesAnswer == false { return try end(connection) }
        connection.carryOut(losingAnswer: losesAnswer == true)
    }

    // MARK: Bytes

    /// Passes on what comes within a time; false where nothing does.
    private func relay(milliseconds: Int32) throws -> Bool {
        let reading = wake.fileHandleForReading.fileDescriptor
        var polled = ([reading] + listeners).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let open = connections
        for connection in open {
            polled.append(pollfd(fd: connection.server, events: Int16(POLLIN), revents: 0))
            polled.append(pollfd(fd: connection.client, events: Int16(POLLIN), revents: 0))
        }
        guard poll(&polled, nfds_t(polled.count), milliseconds) > 0 else { return false }
        if polled[0].revents != 0 {
            var byte = [UInt8(0)]
            _ = read(reading, &byte, 1)
        }
        for (actor, listener) in listeners.enumerated() where polled[actor + 1].revents != 0 {
            let client = accept(listener, nil, nil)
            let server = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            guard client >= 0, Self.withAddress(socket, { connect(server, $0, $1) == 0 }) else {
                throw Stuck(description: "no connection to \(socket)")
            }
            connections.append(RelayedConnection(actor: actor, client: client, server: server))
        }
        for (index, connection) in open.enumerated() {
            let place = 1 + listeners.count + 2 * index
            if polled[place].revents != 0, !connection.readServer() { try end(connection) }
            if connection.isOpen, polled[place + 1].revents != 0, !connection.readClient() { try end(connection) }
        }
        return true
    }

    /// Ends a connection, and waits until the server has undone its transaction.
    private func end(_ connection: RelayedConnection) throws {
        errors += connection.errors
        endedCount += 1 + connection.releases
        connections.removeAll { $0 === connection }
        connection.end(waitsForServer: true)
    }

    // MARK: The story

    private func tell(_ actor: Int, _ text: String, _ losesAnswer: Bool?) {
        var words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        if words.count > 70 { words = words.prefix(70) + "…" }
        if let losesAnswer { words += losesAnswer ? " (its answer is lost)" : " (lost)" }
        if story.last?.actor != actor { story.append((actor, [])) }
        story[story.count - 1].texts.append(words)
    }

    /// The last turns, one a line.
    var lastTurns: String {
        story.suffix(40).map { turn in
            let texts = turn.texts.count > 12 ? turn.texts.prefix(6) + ["…"] + turn.texts.suffix(5) : turn.texts[...]
            return "  \(turn.actor): " + texts.filter { $0 != "sync" }.joined(separator: "; ")
        }.joined(separator: "\n")
    }
}
