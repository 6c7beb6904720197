import Foundation
import Testing

@testable import IngestCore
@testable import Operations

/// What a service manager hears, and when.
@Suite struct ServiceNoticesTests {
    @Test func `a worker announces itself once and tells each new status once`() {
        var notices = ServiceNotices(watchdogSeconds: nil)
        #expect(
            notices.due(isReady: true, isAlive: true, status: "Starting.", at: 0) == ["READY=1", "STATUS=Starting."])
        #expect(notices.due(isReady: true, isAlive: true, status: "Starting.", at: 1) == [])
        #expect(
            notices.due(isReady: true, isAlive: true, status: "Stopped:\nthe disk", at: 2) == [
                "STATUS=Stopped: the disk"
            ])
    }

    @Test func `until the worker runs the manager is asked for more time, well before that is over`() {
        var notices = ServiceNotices(watchdogSeconds: nil)
        #expect(
            notices.due(isReady: false, isAlive: true, status: "Verifying.", at: 0)
                == ["EXTEND_TIMEOUT_USEC=60000000", "STATUS=Verifying."])
        var asked = 0.0
        for time in stride(from: 1.0, to: 300, by: 1) {
            if notices.due(isReady: false, isAlive: true, status: nil, at: time).isEmpty { continue }
            #expect(time - asked < 30)
            asked = time
        }
        #expect(asked > 280)
        #expect(notices.due(isReady: true, isAlive: true, status: nil, at: 301) == ["READY=1"])
        // Nobody asks for time on behalf of a service that runs.
        #expect(notices.due(isReady: false, isAlive: true, status: nil, at: 400) == [])
    }

    @Test func `a live worker gives a sign in each half of the watchdog's time and a hung one gives none`() {
        var notices = ServiceNotices(watchdogSeconds: 30)
        #expect(notices.due(isReady: true, isAlive: true, status: "", at: 100).contains("WATCHDOG=1"))
        #expect(notices.due(isReady: true, isAlive: true, status: "", at: 114.9) == [])
        #expect(notices.due(isReady: true, isAlive: true, status: "", at: 115) == ["WATCHDOG=1"])
        for time in stride(from: 116.0, to: 200, by: 1) {
            #expect(notices.due(isReady: true, isAlive: false, status: "", at: time) == [])
        }
        #expect(notices.due(isReady: true, isAlive: true, status: "", at: 200) == ["WATCHDOG=1"])
    }

    @Test(arguments: [0.1, 1, 10, 3600]) func `signs come in time for any watchdog`(_ seconds: Double) {
        var notices = ServiceNotices(watchdogSeconds: seconds)
        var (time, last) = (0.0, 0.0)
        for _ in 0..<200 {
            if notices.due(isReady: true, isAlive: true, status: "", at: time).contains("WATCHDOG=1") {
                #expect(time - last <= seconds)
                last = time
            }
            time += notices.intervalSeconds
        }
        #expect(time - last <= seconds)
    }

    @Test func `a manager that does not read holds nobody up, and gets its notices later`() throws {
        let path = "/tmp/ingest-notify-\(UUID().uuidString)"
        defer { unlink(path) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(code == 0)
        let manager = try #require(NoticeSocket(path: path))
        var sent = 0
        while sent < 10_000, manager.send(["WATCHDOG=1"]) { sent += 1 }
        #expect(sent > 0 && sent < 10_000)
        let notifier = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": path]))
        let worker = ServiceNotifier.Subject(isAlive: { true }, status: { "Running" })
        notifier.tell(of: worker)
        func read() -> String {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
        }
        for _ in 0..<sent { #expect(read() == "WATCHDOG=1") }
        #expect(read().isEmpty)
        notifier.tell(of: worker)
        #expect(read().hasPrefix("READY=1"))
    }
}
