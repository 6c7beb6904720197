import Foundation

/// Certificates made for one test run by `openssl`, of an authority of their own.
public final class TestCertificates: Sendable {
    /// The authority's certificate.
    public var authority: String { folder.appending(path: "ca.pem").path }
    /// The folder with everything.
    public let folder: URL

    /// Makes the authority.
    public init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "certificates-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try openssl(
            ["req", "-x509"] + Self.newKey + [
                "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test-ca",
            ])
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Makes a certificate for names such as `DNS:localhost,IP:127.0.0.1`; returns the file with its key. Days below zero
    /// make one that has expired.
    public func make(_ name: String, for names: String, days: Int = 2) throws -> String {
        try openssl(["req"] + Self.newKey + ["-keyout", "\(name).key", "-out", "\(name).csr", "-subj", "/CN=\(name)"])
        try "subjectAltName=\(names)\n".write(
            to: folder.appending(path: "\(name).ext"), atomically: true, encoding: .utf8)
        try openssl([
            "x509", "-req", "-in", "\(name).csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile",
            "\(name).ext", "-out", "\(name).pem", "-days", "\(days)",
        ])
        let path = folder.appending(path: "\(name).both")
        let parts = try ["key", "pem"].map { try Data(contentsOf: folder.appending(path: "\(name).\($0)")) }
        try (parts[0] + parts[1]).write(to: path)
        // libpq takes no key that others may read.
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path.path)
        return path.path
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    private func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BrokerProcess.Failure(description: "openssl \(arguments.first ?? "") failed: is it installed?")
        }
    }
}

/// TLS in front of a server: `stunnel4`. Between it and a broker a relay lets the broker advertise the port with TLS.
public final class TLSFront: @unchecked Sendable {
    /// The port with TLS.
    public var port: Int { reservation.number }
    private let reservation: ReservedPort
    private let process = Process()
    private let relay: AdvertisingRelay?
    private let log: URL

    /// Starts in front of a broker, with the file of a certificate and its key, and waits until it listens.
    ///
    /// - Parameter clients: the authority whose certificates clients have to show; nil where they need none.
    public convenience init(_ broker: BrokerProcess, certificate: String, clients: String? = nil) throws {
        let reservation = try ReservedPort()
        let relay = try AdvertisingRelay(broker: broker.port, advertised: reservation.number)
        try self.init(reservation, server: relay.port, relay: relay, certificate: certificate, clients: clients)
    }

    /// Starts in front of a server on a port of loopback, with the file of a certificate and its key.
    public convenience init(server: Int, certificate: String) throws {
        try self.init(ReservedPort(), server: server, relay: nil, certificate: certificate, clients: nil)
    }

    private init(
        _ reservation: ReservedPort, server: Int, relay: AdvertisingRelay?, certificate: String, clients: String?
    ) throws {
        let port = reservation.number
        (self.reservation, self.relay) = (reservation, relay)
        let folder = URL(filePath: certificate).deletingLastPathComponent()
        let configuration = folder.appending(path: "stunnel-\(port).conf")
        log = folder.appending(path: "stunnel-\(port).log")
        try """
        foreground = yes
        pid =
        syslog = no
        [server]
        accept = 127.0.0.1:\(port)
        connect = 127.0.0.1:\(server)
        cert = \(certificate)
        \(clients.map { "verifyChain = yes\nCAfile = \($0)" } ?? "")

        """.write(to: configuration, atomically: true, encoding: .utf8)
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["stunnel4", configuration.path]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = try FileHandle(forWritingTo: log)
        try process.run()
        try wait(for: "stunnel4 on port \(port)") {
            guard process.isRunning else {
                let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
                throw BrokerProcess.Failure(description: "stunnel4 ended: is it installed? \(text.suffix(500))")
            }
            return BrokerProcess.canConnect(port)
        }
    }

    deinit {
        // The threads of a test may have SIGTERM blocked, and a child inherits that.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// A way to a broker on which bytes are damaged, behind the back of both sides.
public final class DamagingFront: Sendable {
    private let relay: AdvertisingRelay

    /// Starts in front of a broker.
    ///
    /// - Parameters:
    ///   - text: what is looked for in what the broker sends, not compressed and sent at once.
    ///   - damaged: what stands there when it arrives; as many bytes.
    public init(_ broker: BrokerProcess, replacing text: String, with damaged: String) throws {
        precondition(text.utf8.count == damaged.utf8.count, "the length of what is sent must stay")
        relay = try AdvertisingRelay(
            broker: broker.port, replacements: [(Array(text.utf8), Array(damaged.utf8))])
    }

    /// What to put into `bootstrap.servers`.
    public var bootstrapServers: String { "127.0.0.1:\(relay.port)" }
}

/// Passes bytes between clients and a broker, and puts another port where the broker advertises its own.
final class AdvertisingRelay: Sendable {
    let port: Int
    private let listener: Int32

    /// - Parameters:
    ///   - broker: the broker's port.
    ///   - advertised: the port to advertise instead; nil is the relay's own.
    ///   - replacements: what else is replaced in what the broker sends.
    init(broker: Int, advertised: Int? = nil, replacements: [(old: [UInt8], new: [UInt8])] = []) throws {
        let socketDescriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        listener = socketDescriptor
        var address = BrokerProcess.loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socketDescriptor, $0, length) == 0 && listen(socketDescriptor, 64) == 0
                    && getsockname(socketDescriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw BrokerProcess.Failure(description: "no free port on the loopback interface") }
        port = Int(UInt16(bigEndian: address.sin_port))
        let host = Array("127.0.0.1".utf8)
        let replacements = [(host + Self.bytes(broker), host + Self.bytes(advertised ?? port))] + replacements
        Thread.detachNewThread {
            while true {
                let client = accept(socketDescriptor, nil, nil)
                guard client >= 0 else { return }
                let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                var address = BrokerProcess.loopback(port: broker)
                let isOpen = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                    }
                }
                guard isOpen else {
                    close(client)
                    close(server)
                    continue
                }
                Self.pump(client, server, replacing: [])
                Self.pump(server, client, replacing: replacements)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func bytes(_ port: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: port >> $0) }
    }

    /// Copies on a thread of its own until one side closes. A pattern that two reads share is missed; brokers write an
    /// answer at once.
    private static func pump(_ from: Int32, _ to: Int32, replacing: [(old: [UInt8], new: [UInt8])]) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = recv(from, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                var bytes = Array(buffer[..<count])
                for (old, new) in replacing { bytes.replace(old, with: new) }
                var sent = 0
                while sent < bytes.count {
                    let written = bytes[sent...].withUnsafeBytes {
                        send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard written > 0 else { break }
                    sent += written
                }
                if sent < bytes.count { break }
            }
            shutdown(from, Int32(SHUT_RDWR))
            shutdown(to, Int32(SHUT_RDWR))
        }
    }
}
