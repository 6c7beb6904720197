import KafkaClient
import ObjectGraph
import Synchronization
import Testing

@testable import IngestCore

/// A clock that a test sets.
final class HandClock: Sendable {
    private let seconds = Mutex(0.0)

    var now: @Sendable () -> Double { { self.seconds.withLock { $0 } } }

    func advance(by time: Double) { seconds.withLock { $0 += time } }
}

@Suite struct OutageLogTests {
    private let lines = LogLines()
    private let clock = HandClock()
    private var log: OutageLog { OutageLog(logger: lines.logger, now: clock.now) }
    private let refused = StoreError(.busy, "locked", remedy: "Wait")

    @Test(arguments: OutageLog.Part.allCases)
    func `each part has three different lines of one outage`(_ part: OutageLog.Part) throws {
        let log = log
        for _ in 0..<100 {
            log.failed(part, refused)
            clock.advance(by: 1)
        }
        log.succeeded(part)
        log.succeeded(part)
        #expect(lines.all.count == 3)
        let texts = lines.all.map { $0.split(separator: " code=")[0].split(separator: " failures=")[0] }
        #expect(Set(texts.map { $0.dropFirst(31) }).count == 3)
        #expect(lines.all[0].contains(" error ") && lines.all[0].contains("code=store.busy"))
        #expect(lines.all[1].contains("seconds=60") && lines.all[1].contains("failures=61"))
        #expect(lines.all[2].contains(" info ") && lines.all[2].contains("seconds=100"))
    }

    @Test func `one part's end is not another's`() {
        let log = log
        log.failed(.store, refused)
        log.failed(.decoding, refused)
        log.succeeded(.store)
        log.succeeded(.notifications)
        #expect(lines.all.count == 3)
        log.succeeded(.decoding)
        #expect(lines.all.count == 4)
    }

    @Test func `a client's lines about connections are one outage`() {
        let log = log
        let text = "[thrd:a:9092/bootstrap]: a:9092/1: Connect to ipv4#127.0.0.1:9092 failed: refused (after 0ms)"
        for _ in 0..<50 {
            log.clientSaid(.error, "FAIL", text)
            log.clientSaid(.info, "FAIL", "[thrd:a:9092/1]: a:9092/1: Disconnected (after 9ms in state UP)")
            log.clientReported(KafkaError(.allBrokersDown, "4/4 brokers are down"))
            log.brokerFailed(KafkaError(.transport, "refused"))
            clock.advance(by: 1)
        }
        log.brokerAnswered(askedAt: clock.now())
        for _ in 0..<3 {
            clock.advance(by: 2)
            log.brokerAnswered(askedAt: clock.now())
        }
        #expect(lines.all.count == 2)
        #expect(lines.all.first?.contains("no broker answers, trying again code=_TRANSPORT") == true)
        #expect(lines.all.last?.contains("a broker answers again failures=50 seconds=50") == true)
    }

    @Test func `one broker of several that is away is named`() {
        let log = log
        log.brokerAnswered(askedAt: clock.now())
        log.clientSaid(.error, "FAIL", "[thrd:ssl://b:9093/2]: ssl://b:9093/2: Connect failed (after 1ms in state X)")
        clock.advance(by: 1)
        log.brokerAnswered(askedAt: clock.now())
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains(#"broker=b:9093 reason="Connect failed""#) == true)
    }

    @Test func `lines that differ in numbers alone come once a minute with their count`() {
        let log = log
        for number in 0..<90 {
            log.clientSaid(.warning, "MAXPOLL", "[thrd:main]: poll exceeded by \(number)ms")
            clock.advance(by: 1)
        }
        log.clientSaid(.warning, "CONFWARN", "[thrd:app]: linger.ms is deprecated")
        log.clientSaid(.debug, "CGRP", "not at this level")
        #expect(lines.all.count == 3)
        #expect(lines.all[1].contains("facility=MAXPOLL times=61"))
        #expect(lines.all[2].contains("linger.ms"))
    }
}
