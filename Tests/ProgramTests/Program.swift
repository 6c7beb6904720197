import Foundation
import TestSupport
import Testing

/// Runs the built program as a user does: a process with arguments, files and signals.
final class Program: @unchecked Sendable {
    struct Result {
        let status: Int32
        let output: String
        let errors: String
    }

    private let process = Process()
    private let folder: URL

    /// The built program, which stands beside the test bundle.
    static let url: URL = {
        let bundle = URL(filePath: CommandLine.arguments[0])
        let beside = bundle.deletingLastPathComponent().appending(path: "ingest-worker")
        if FileManager.default.isExecutableFile(atPath: beside.path) { return beside }
        // The test helper of the toolchain runs the bundle; it names it in its arguments.
        let named = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(filePath: $0) } ?? bundle
        return named.deletingLastPathComponent().appending(path: "ingest-worker")
    }()

    /// The package's folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Starts the program in the package's folder.
    ///
    /// - Parameter launcher: a program that starts it, with its arguments.
    init(_ arguments: [String], environment: [String: String] = [:], launcher: [String] = []) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let command = launcher + [Self.url.path] + arguments
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        process.currentDirectoryURL = Self.root
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("INGEST_") }
        process.environment = inherited.merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try Self.file(folder.appending(path: "out"))
        process.standardError = try Self.file(folder.appending(path: "err"))
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    private static func file(_ url: URL) throws -> FileHandle {
        _ = FileManager.default.createFile(atPath: url.path, contents: nil)
        return try FileHandle(forWritingTo: url)
    }

    var output: String { (try? String(contentsOf: folder.appending(path: "out"), encoding: .utf8)) ?? "" }
    var errors: String { (try? String(contentsOf: folder.appending(path: "err"), encoding: .utf8)) ?? "" }
    var isRunning: Bool { process.isRunning }
    var processID: Int32 { process.processIdentifier }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for the end; a program that hangs is killed and its test fails.
    func wait() throws -> Result {
        do {
            try TestSupport.wait(for: "the program's end: \(process.arguments ?? [])") { !process.isRunning }
        } catch {
            send(SIGKILL)
            throw BrokerProcess.Failure(description: "\(error)\n\(output)\n\(errors)")
        }
        return Result(status: process.terminationStatus, output: output, errors: errors)
    }

    /// Waits for the end, and expects that it is no failure.
    func expectGoodEnd(at place: SourceLocation = #_sourceLocation) throws {
        let result = try wait()
        #expect(result.status == 0, "\(result.errors.suffix(3000))", sourceLocation: place)
    }

    /// Waits until something holds; a program that ends before fails its test.
    ///
    /// - Parameter progress: a value that changes with each progress.
    func wait(
        for what: String, progress: () throws -> AnyHashable? = { nil }, until condition: () throws -> Bool
    ) throws {
        do {
            var holds = false
            try TestSupport.wait(for: what, progress: progress, everyMilliseconds: 50) {
                holds = try condition()
                return holds || !isRunning
            }
            // It may have come to it at its end.
            if !holds { holds = try condition() }
            try #require(holds, "the program ended before \(what)")
        } catch {
            throw BrokerProcess.Failure(description: "\(error)\n\(errors.suffix(3000))")
        }
    }

    /// Reads an answer of the program's HTTP server, the one that listens last: the status line's number and the body.
    ///
    /// - Parameters:
    ///   - body: what is posted, or nil for GET.
    ///   - headers: further lines of the head.
    /// - Returns: nil where nobody answers.
    func get(
        _ path: String, body: String? = nil, headers: [String: String] = [:]
    ) throws -> (status: Int, body: String)? {
        var port = ""
        try TestSupport.wait(for: "the HTTP port") {
            port = errors.matches(of: /http:\/\/127\.0\.0\.1:(\d+)/).last.map { String($0.1) } ?? ""
            return !port.isEmpty
        }
        let text = try Foreign.run(
            "python3",
            [
                "-c",
                """
                import json, sys, urllib.request, urllib.error
                request = json.loads(sys.argv[1])
                body = request["body"].encode() if "body" in request else None
                ask = urllib.request.Request(request["url"], data=body, headers=request["headers"])
                try: answer = urllib.request.urlopen(ask, timeout=3600)
                except urllib.error.HTTPError as error: answer = error
                except Exception: sys.exit()
                print(answer.code); print(answer.read().decode())
                """, try Self.text(of: "http://127.0.0.1:\(port)\(path)", body, headers),
            ])
        let parts = text.split(separator: "\n", maxSplits: 1)
        guard let status = parts.first.flatMap({ Int($0) }) else { return nil }
        return (status, parts.count > 1 ? String(parts[1]) : "")
    }

    private static func text(of url: String, _ body: String?, _ headers: [String: String]) throws -> String {
        var request: [String: Any] = ["url": url, "headers": headers]
        request["body"] = body
        return String(decoding: try JSONSerialization.data(withJSONObject: request), as: UTF8.self)
    }

    /// Kills the program as a crash would.
    func crash() throws {
        send(SIGKILL)
        try TestSupport.wait(for: "the killed program's end") { !process.isRunning }
    }

    /// Runs the program to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], launcher: [String] = []
    ) throws -> Result {
        try Program(arguments, environment: environment, launcher: launcher).wait()
    }

    /// The contents of the store that the arguments name.
    ///
    /// Positions and dead letters, which come last, name their source: a topic in one store, a file in another.
    static func contents(ofStore arguments: [String]) throws -> Substring {
        let result = try run(["verify", "--dump"] + arguments)
        try #require(result.status == 0, "\(result.errors)")
        let contents = try #require(result.output.split(separator: "\npositions", maxSplits: 1).first)
        try #require(contents.count > 1000)
        return contents
    }
}

/// A folder for one test's files, removed with the object.
final class Workspace {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "workspace-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }

    /// Replays the sample of chat events into a new store, and returns its path.
    func sampleStore() throws -> String {
        let store = path("store.sqlite")
        let replayed = try Program.run([
            "replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--set", "store.path=\(store)",
        ])
        try #require(replayed.status == 0, "\(replayed.errors)")
        return store
    }

    /// A model of members with unique addresses, whose conflicts are resolved and noted.
    func membersModel() throws -> String {
        try write(
            """
            model: members
            entities:
              Member:
                identity: id
                mergePolicy: objectTrump
                attributes:
                  id: { type: string }
                  name: { type: string, optional: true }
                  email: { type: string, optional: true, unique: true }
            """, to: "members.yaml")
    }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try FileManager.default.createDirectory(
            at: URL(filePath: path(name)).deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
        return path(name)
    }
}

/// Runs a program that is not ours, such as `sqlite3` or `python3`, and gives its output.
enum Foreign {
    static func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = Program.root
        process.standardInput = FileHandle.nullDevice
        let file = FileManager.default.temporaryDirectory.appending(path: "foreign-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        process.standardOutput = try FileHandle(forWritingTo: file)
        try process.run()
        process.waitUntilExit()
        let output = try String(contentsOf: file, encoding: .utf8)
        guard process.terminationStatus == 0 else {
            throw BrokerProcess.Failure(
                description: "\(program) ended with \(process.terminationStatus): "
                    + "is it installed? 'make test' installs it")
        }
        return output
    }

    /// Asks the `sqlite3` program, which a worker that starts need not wait for unless it writes.
    static func sqlite(_ path: String, _ sql: String, writing: Bool = false) throws -> String {
        // A worker that was killed leaves a log, and the next to open the store locks it while it reads that.
        try run("sqlite3", ["-batch", "-cmd", ".timeout 30000"] + (writing ? [] : ["-readonly"]) + [path, sql])
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The position of a store that reads one topic; 0 while there is none.
    static func position(ofStore path: String) -> Int {
        let text = try? sqlite(path, "SELECT coalesce(max(nextOffset), 0) FROM _position")
        return text.flatMap { Int($0) } ?? 0
    }

    /// Writes made-up chat events.
    static func generateEvents(_ count: Int, seed: Int, to path: String) throws {
        _ = try run(
            "python3", ["Benchmarks/generate-events", "--count", "\(count)", "--seed", "\(seed)", "--output", path])
    }
}
