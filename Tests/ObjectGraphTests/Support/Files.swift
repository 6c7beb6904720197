import Foundation
import Testing

/// A folder that goes with its last reference.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("objectgraph-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// The package's own files, which tests of the documentation read.
enum PackageFiles {
    static let root: URL = {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        return root
    }()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }
}

/// The program `sqlite3`, as a person would use it.
enum SQLiteProgram {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs SQL on a database and returns what the program prints.
    @discardableResult
    static func run(_ path: String, _ sql: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", path, sql]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        switch process.terminationStatus {
        case 0: return text
        case 127:
            throw Failure(description: "The program sqlite3 is missing: install it, as in 'apt-get install sqlite3'")
        default: throw Failure(description: "sqlite3 refused: \(complaint)")
        }
    }
}

/// A clock that a test sets.
final class Clock {
    var now: Int64

    init(_ now: Int64) { self.now = now }
}
