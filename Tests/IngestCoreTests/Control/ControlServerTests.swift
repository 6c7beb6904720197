import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import SQLiteStorage

/// The socket beside the store: who may ask, and what clients that misbehave do to others.
@Suite struct ControlServerTests {
    /// Runs what waits for an answer away from the threads that run tests.
    private func away<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await DispatchQueue(label: "client").run(body)
    }

    private func connect(_ served: ServedStore) throws -> ControlSocket {
        try #require(try ControlSocket.connect(to: served.socket, timeoutSeconds: 60))
    }

    /// Reads until the other end closes.
    private func rest(_ socket: ControlSocket) -> String {
        var all: [UInt8] = []
        while case .bytes(let bytes) = socket.read() { all += bytes }
        return String(decoding: all, as: UTF8.self)
    }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    @Test func `the socket stands beside the store for its user only, until the end`() async throws {
        let served = try ServedStore()
        #expect(served.socket == served.path + ".control")
        #expect(mode(served.socket) == 0o600)
        #expect(mode(served.socket + ".new") == nil)
        served.start()
        let result = try await away { try served.requests().carryOut(.putCursor("feed", token: 0)) }
        #expect(result == .cursorPut)
        #expect(try served.writer.store.read { try $0.cursors() } == ["feed": 0])
        try await away { served.stop() }
        #expect(mode(served.socket) == nil)
    }

    @Test func `a verification tells its client how far it is`() async throws {
        let served = try ServedStore()
        served.start()
        let (result, steps) = try await away {
            var steps: [StoreStep] = []
            var requests = served.requests()
            requests.onStep = { steps.append($0) }
            return (try requests.carryOut(.verify), steps)
        }
        try await away { served.stop() }
        guard case .verified(let report) = result else { throw ControlError.interrupted }
        #expect(report.isSound && !steps.isEmpty, "\(steps)")
    }

    @Test func `a request that reads is refused while another one is under way`() async throws {
        let served = try ServedStore()
        let letters = (0..<3).map { offset in
            DeadLetter(
                time: 0, topic: "events", partition: 0, offset: Int64(offset), stage: "decode", code: "json.syntax",
                reason: "r", key: nil, value: [UInt8](repeating: 0x7B, count: 200_000), valueBytes: 200_000)
        }
        _ = try served.writer.apply(WriterContext.Chunk(events: [], deadLetters: letters))
        try served.writer.commit()
        served.start()
        // The client of the export takes nothing, so the export waits for it.
        let envelope = served.desk.envelope(.exportDeadLetters(DeadLetterSelection()), key: nil)
        let export = ControlTicket(envelope, from: "a test") {}
        served.desk.submit(export)
        try await away { try TestSupport.wait(for: "a full client") { !export.hasRoom } }
        for request in [ControlRequest.verify, .exportDeadLetters(DeadLetterSelection())] {
            await #expect {
                try await away { try served.requests().carryOut(request, patienceSeconds: 0) }
            } throws: {
                ($0 as? ControlError)?.code == "control.busy"
            }
        }
        export.abandon()
        #expect(try await away { try served.requests().carryOut(.putCursor("feed", token: 0)) } == .cursorPut)
        try await away { served.stop() }
    }

    @Test func `a link to the store leads to the same socket`() async throws {
        let served = try ServedStore()
        let link = served.folder.appending(path: "link.sqlite").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "store.sqlite")
        let found = WorkerConfiguration.controlPath(ofStore: link)
        #expect(URL(filePath: found).standardized.path == URL(filePath: served.socket).standardized.path)
        served.start()
        var configuration = WorkerConfiguration()
        configuration.store.path = link
        let result = try await away { [configuration] in
            try StoreRequests(configuration: configuration, model: WorkerHarness.model)
                .carryOut(.removeCursor("feed"))
        }
        #expect(result == .cursorRemoved(false))
        try await away { served.stop() }
    }

    @Test func `a path that is longer than an address may be works`() async throws {
        let served = try ServedStore(
            under: String(repeating: "a", count: 100) + "/" + String(repeating: "b", count: 100))
        #expect(served.socket.utf8.count > 200 && mode(served.socket) == 0o600)
        served.start()
        #expect(try await away { try served.requests().carryOut(.removeCursor("feed")) } == .cursorRemoved(false))
        try await away { served.stop() }
        #expect(mode(served.socket) == nil)
    }

    @Test func `a path too long for a socket is refused`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/" + String(repeating: "c", count: 120) + ".sqlite"
        #expect {
            _ = try ControlSocket.listen(at: folder)
        } throws: {
            ($0 as? ControlError)?.code == "control.unavailable"
        }
        #expect(mode(folder) == nil && mode(folder + ".new") == nil)
    }

    // MARK: What stands there already

    @Test func `a socket that was left over is replaced, and another one's is left alone`() async throws {
        let served = try ServedStore()
        served.server.close()
        #expect(mode(served.socket) == nil)
        // As a killed worker leaves it: nobody listens.
        let old = try ControlSocket.listen(at: served.socket)
        old.close()
        #expect(mode(served.socket) != nil)
        #expect(try ControlSocket.connect(to: served.socket, timeoutSeconds: 1) == nil)
        let first = try ControlServer(path: served.socket, desk: served.desk, logger: .silent)
        try #require(try ControlSocket.connect(to: served.socket, timeoutSeconds: 1)).close()
        // The next holder of the lease makes its own; the end of the one before does not take it away.
        let second = try ControlServer(path: served.socket, desk: served.desk, logger: .silent)
        first.close()
        #expect(mode(served.socket) == 0o600)
        try #require(try ControlSocket.connect(to: served.socket, timeoutSeconds: 1)).close()
        second.close()
        #expect(mode(served.socket) == nil)
    }

    @Test func `a file that is no socket stays untouched`() throws {
        let served = try ServedStore()
        served.server.close()
        let target = served.folder.appending(path: "target").path
        try FileManager.default.createSymbolicLink(atPath: served.socket, withDestinationPath: target)
        #expect(throws: ControlError.self) { try ControlSocket.listen(at: served.socket) }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: served.socket) == target)
        try FileManager.default.removeItem(atPath: served.socket)
        try Data("notes".utf8).write(to: URL(filePath: served.socket))
        #expect(throws: ControlError.self) { try ControlSocket.listen(at: served.socket) }
        #expect(try String(contentsOfFile: served.socket, encoding: .utf8) == "notes")
    }

    // MARK: Clients that misbehave

    @Test func `garbage is answered, and harms nobody`() async throws {
        let served = try ServedStore()
        served.start()
        for line in ["GET / HTTP/1.1\r\n", "\n", "{\"version\":1}\n", "\u{0}\n", "[[[[\n"] {
            let socket = try connect(served)
            _ = socket.write([UInt8](line.utf8))
            let answer = try await away { rest(socket) }
            socket.close()
            #expect(answer.contains("control.malformed"), "\(line): \(answer)")
        }
        #expect(try await away { try served.requests().carryOut(.removeCursor("feed")) } == .cursorRemoved(false))
        try await away { served.stop() }
    }

    @Test func `a request without an end is cut off`() async throws {
        let served = try ServedStore()
        served.start()
        let socket = try connect(served)
        let answer = try await away {
            let piece = [UInt8](repeating: 0x61, count: 64 << 10)
            for _ in 0..<64 where socket.write(piece) != nil {}
            return rest(socket)
        }
        socket.close()
        #expect(answer.contains("control.too_long") && answer.contains("more than 1048576 bytes"), "\(answer)")
        try await away { served.stop() }
    }

    @Test func `silent clients are closed, and a client too many is sent away`() async throws {
        let served = try ServedStore()
        served.start()
        let silent = try (0..<ControlLimits().clients).map { _ in try connect(served) }
        // The server accepts in the order of the connections.
        let refused = try connect(served)
        #expect(try await away { rest(refused) }.contains("control.busy"))
        refused.close()
        // A command waits for its turn.
        let result = try await away { try served.requests().carryOut(.removeCursor("feed"), patienceSeconds: 60) }
        #expect(result == .cursorRemoved(false))
        for socket in silent {
            #expect(try await away { rest(socket) }.contains("control.late"))
            socket.close()
        }
        try await away { served.stop() }
    }

    @Test func `a client that takes no answers delays others for a bounded time`() async throws {
        var limits = ControlLimits()
        limits.stallSeconds = 0.5
        let served = try ServedStore(limits: limits)
        // More to be told than socket and desk hold.
        let letters = (Int64(0)..<4_000).map { offset in
            DeadLetter(
                time: 0, topic: String(repeating: "t", count: 200), partition: 0, offset: offset, stage: "decode",
                code: "old", reason: "r", key: nil, value: nil, valueBytes: 0)
        }
        _ = try served.writer.apply(WriterContext.Chunk(events: [], deadLetters: letters))
        try served.writer.commit()
        served.start()
        let stalled = try connect(served)
        let envelope = ControlEnvelope(
            store: try served.writer.store.identity(),
            configuration: WorkerConfiguration().decodingMark(WorkerHarness.model),
            request: .retryDeadLetters(DeadLetterSelection()))
        _ = stalled.write(envelope.line)
        let other = try await away { try served.requests().carryOut(.removeCursor("feed"), patienceSeconds: 60) }
        #expect(other == .cursorRemoved(false))
        #expect(try await away { rest(stalled) }.contains("result") == false)
        stalled.close()
        try await away { served.stop() }
        // It was begun, and left after some step.
        let tried = try served.writer.store.read { try $0.deadLetters(limit: 10_000) }.filter { $0.attempts == 2 }
        #expect(!tried.isEmpty && tried.count < letters.count)
    }

    @Test func `a client that has closed its side still gets the answer`() async throws {
        let served = try ServedStore()
        served.start()
        let socket = try connect(served)
        let envelope = ControlEnvelope(
            store: try served.writer.store.identity(), configuration: "", request: .removeCursor("feed"))
        _ = socket.write(envelope.line)
        shutdown(socket.descriptor, Int32(SHUT_WR))
        #expect(try await away { rest(socket) }.contains("\"removed\":false"))
        socket.close()
        try await away { served.stop() }
    }

    @Test func `a request whose client is gone is not begun`() async throws {
        let served = try ServedStore()
        // Nobody serves yet, so the request waits.
        Thread.detachNewThread { served.server.run() }
        let socket = try connect(served)
        let envelope = ControlEnvelope(
            store: try served.writer.store.identity(), configuration: "", request: .putCursor("feed", token: 0))
        _ = socket.write(envelope.line)
        guard case .bytes(let taken) = try await away({ socket.read() }) else {
            Issue.record("no answer")
            return
        }
        #expect(String(decoding: taken, as: UTF8.self).contains("waiting"))
        // Abandoned or not, there is work: then it is to be left.
        socket.close()
        let other = ControlTicket(
            ControlEnvelope(
                store: try served.writer.store.identity(), configuration: "", request: .putCursor("other", token: 0)),
            from: "user 0, process 0"
        ) {}
        try await away {
            // The server has seen the end of the one before it answers the next.
            let next = try ControlSocket.connect(to: served.socket, timeoutSeconds: 60)
            _ = next?.write([0x0A])
            _ = next?.read()
            next?.close()
        }
        served.desk.submit(other)
        for _ in 0..<2 { try served.desk.serve(served.writer) {} }
        #expect(try served.writer.store.read { try $0.cursors() } == ["other": 0])
        served.desk.close()
        served.server.requestStop()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func `another user is refused though the mode would let it in`() async throws {
        let served = try ServedStore()
        served.start()
        #expect(chmod(served.socket, 0o666) == 0)
        let script = """
            import os, socket, sys
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
            client = socket.socket(socket.AF_UNIX); client.connect(sys.argv[1])
            print(client.makefile().read())
            """
        let answer = try await away {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["python3", "-c", script, served.socket]
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return String(decoding: output, as: UTF8.self)
        }
        #expect(answer.contains("control.forbidden"), "\(answer)")
        try await away { served.stop() }
    }

    // MARK: Nobody there

    @Test func `without a worker the request is carried out here`() async throws {
        let served = try ServedStore()
        served.server.close()
        try served.writer.close()
        try served.writer.store.close()
        #expect(try await away { try served.requests().carryOut(.putCursor("feed", token: 0)) } == .cursorPut)
        #expect(try await away { try served.requests().carryOut(.removeCursor("feed")) } == .cursorRemoved(true))
        #expect(mode(served.socket) == nil)
    }

    @Test func `a writer that takes no requests is named`() async throws {
        let served = try ServedStore()
        served.server.close()
        #expect {
            _ = try served.requests().carryOut(.removeCursor("feed"), patienceSeconds: 0)
        } throws: {
            let error = $0 as? ControlError
            return error?.code == "store.leased" && error?.message.contains("takes no requests") == true
        }
    }
}
