import Foundation
import Logging
import Synchronization
import Testing

@testable import IngestCore

@Suite("Structured log")
struct StructuredLogHandlerTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func append(_ bytes: [UInt8]) { lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
    }

    private static func logger(
        _ lines: Lines, _ format: LogFormat, secrets: [String] = []
    ) -> Logger {
        let sink = LogSink(secretValues: secrets) { lines.append($0) }
        return Logger(label: "test") { _ in
            StructuredLogHandler(
                sink: sink, format: format, level: .info, now: { LogTime(milliseconds: 1_767_323_045_678) })
        }
    }

    @Test
    func `a text line`() {
        let lines = Lines()
        var logger = Self.logger(lines, .text)
        logger[metadataKey: "topic"] = "t"
        logger.info("a message", metadata: ["offset": "\(12)", "a": "b c", "empty": "", "quote": "x\"y\\z=\n"])
        logger.critical("stop")
        logger.debug("not written")
        #expect(
            lines.all == [
                "2026-01-02T03:04:05.678Z info  a message a=\"b c\" empty=\"\" offset=12 "
                    + "quote=\"x\\\"y\\\\z=\\n\" topic=t\n",
                "2026-01-02T03:04:05.678Z critical stop topic=t\n",
            ])
    }

    @Test
    func `a JSON line`() throws {
        let lines = Lines()
        Self.logger(lines, .json).warning(
            "a \"message\"\u{7}",
            metadata: [
                "offset": .stringConvertible(12), "flag": .stringConvertible(true), "list": ["a", ["b": "c"]],
                "seconds": .stringConvertible(0.5), "time": "x",
                "text": "12",
            ])
        #expect(
            lines.all == [
                "{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"warning\",\"message\":\"a \\\"message\\\"\\u0007\","
                    + "\"flag\":true,\"list\":[\"a\",{\"b\":\"c\"}],\"offset\":12,\"seconds\":0.5,\"text\":\"12\",\"time_\":\"x\"}\n"
            ])
        #expect(try JSONSerialization.jsonObject(with: Data(lines.all[0].utf8)) is [String: Any])
    }

    @Test(arguments: [LogFormat.text, .json])
    func `no text breaks a line or steers a terminal`(format: LogFormat) {
        let lines = Lines()
        Self.logger(lines, format).info(
            "a\nb\r\u{1B}[31m\u{2028}\u{0}", metadata: ["k\n": "v\nw\u{1B}", "list": ["\n"]])
        #expect(lines.all.count == 1)
        #expect(lines.all[0].unicodeScalars.filter { $0.value < 0x20 || $0.value == 0x2028 } == ["\n"])
        #expect(lines.all[0].hasSuffix("\n"))
    }

    @Test
    func `secrets are redacted by name and by value`() {
        let lines = Lines()
        var logger = Self.logger(lines, .text, secrets: ["hunter2", "hunter2hunter2", "abc"])
        logger[metadataKey: "sasl.password"] = "x1"
        logger.info(
            "login with hunter2hunter2!hunter2",
            metadata: [
                "config": ["client.secret": "x2", "user": "bob"], "url": "a:hunter2@b", "apiToken": "x3", "k": "abc",
            ])
        logger.info("saved", metadata: ["token": "42", "historyToken": .stringConvertible(43)])
        #expect(
            lines.all == [
                "2026-01-02T03:04:05.678Z info  login with [redacted]![redacted] apiToken=[redacted] "
                    + "config={\"client.secret\":\"[redacted]\",\"user\":\"bob\"} k=abc sasl.password=[redacted] "
                    + "url=a:[redacted]@b\n",
                "2026-01-02T03:04:05.678Z info  saved historyToken=43 sasl.password=[redacted] token=42\n",
            ])
    }

    @Test
    func `metadata of one logger do not reach another`() {
        let lines = Lines()
        let first = Self.logger(lines, .text)
        var second = first
        second[metadataKey: "only"] = "second"
        second.logLevel = .error
        first.info("x")
        #expect(lines.all == ["2026-01-02T03:04:05.678Z info  x\n"])
    }

    @Test
    func `lines of many tasks stay whole`() async {
        let lines = Lines()
        let logger = Self.logger(lines, .text)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { for _ in 0..<200 { logger.info("task", metadata: ["n": "\(task)"]) } }
            }
        }
        #expect(lines.all.count == 1_600)
        #expect(lines.all.allSatisfy { $0.hasPrefix("2026-") && $0.hasSuffix("\n") })
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_827_696_789, "2000-02-29T12:34:56.789Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"), (-86_400_000, "1969-12-31T00:00:00.000Z"),
        ] as [(Int64, String)])
    func `a time is written in UTC with milliseconds`(milliseconds: Int64, text: String) {
        #expect(LogTime(milliseconds: milliseconds).description == text)
    }
}
