import Foundation

/// Runs kcat, a client that shares no code with this one.
public enum Kcat {
    /// Runs kcat with a time limit and gives its standard output; throws when it is missing or fails.
    public static func run(_ arguments: [String], input: String = "") throws -> String {
        guard let program = ["/usr/bin/kcat", "/usr/local/bin/kcat"].first(where: FileManager.default.isExecutableFile)
        else { throw BrokerProcess.Failure(description: "The test needs kcat. Run: apt-get install kcat") }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/timeout")
        process.arguments = ["30", program] + arguments
        let inputPipe = Pipe()
        let outputPipe = Pipe()
        // Another child process must not inherit this end, or kcat's input would not end.
        _ = fcntl(inputPipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        process.standardInput = inputPipe
        process.standardOutput = outputPipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
        let output = try outputPipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BrokerProcess.Failure(description: "kcat ended with status \(process.terminationStatus)")
        }
        return String(decoding: output, as: UTF8.self)
    }
}
