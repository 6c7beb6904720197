import Foundation

/// A `sqlite3` that keeps its connection open between questions.
public final class SQLiteShell {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// Opens a store.
    ///
    /// - Parameter options: options of `sqlite3`, such as `-readonly`.
    public init(_ path: String, _ options: String...) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["sqlite3", "-batch"] + options + [path]
        process.standardInput = input
        process.standardOutput = output
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
    }

    deinit { close() }

    /// Says something that has no answer.
    public func tell(_ sql: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((sql + ";\n").utf8))
    }

    /// Asks for one value.
    public func ask(_ sql: String) throws -> String {
        try tell(sql)
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    /// Ends the connection.
    public func close() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
