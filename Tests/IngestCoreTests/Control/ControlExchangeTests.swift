import Testing

@testable import IngestCore

/// One client's exchange as a value: how much it may send, and how long it may take.
@Suite struct ControlExchangeTests {
    private func bytes(_ text: String) -> [UInt8] { [UInt8](text.utf8) }

    @Test func `a request may come in pieces, and what follows it is passed over`() {
        var exchange = ControlExchange(at: 0)
        #expect(exchange.received(bytes("{\"a"), at: 1) == .wait)
        #expect(exchange.received(bytes("\":1}\n{\"b\":2}\n"), at: 2) == .submit(bytes("{\"a\":1}")))
        #expect(exchange.received(bytes("more\n"), at: 3) == .wait)
        // Who sends nothing more may still wait for the answer.
        #expect(exchange.ended() == .wait)
    }

    @Test func `a client that ends without a request is closed`() {
        var exchange = ControlExchange(at: 0)
        _ = exchange.received(bytes("{"), at: 1)
        #expect(exchange.ended() == .close)
    }

    @Test func `a request that is too long is refused with or without its end`() {
        for end in ["", "\n"] {
            var exchange = ControlExchange(at: 0)
            let half = [UInt8](repeating: 0x61, count: ControlLine.maximumBytes / 2)
            #expect(exchange.received(half, at: 0) == .wait)
            #expect(exchange.received(half, at: 0) == .wait)
            guard case .refuse(let error) = exchange.received(bytes("x" + end), at: 0) else {
                Issue.record("not refused")
                continue
            }
            #expect(error.code == "control.too_long")
            #expect(exchange.received(half, at: 0) == .wait)
            exchange.answer(bytes("no"), isLast: true, at: 0)
            #expect(exchange.wrote(2, at: 0) == .close)
        }
    }

    @Test func `a request has its time`() {
        var exchange = ControlExchange(at: 10)
        #expect(exchange.received(bytes("{"), at: 14.9) == .wait)
        #expect(exchange.passed(at: 14.9) == .wait)
        #expect(exchange.deadline == 15)
        guard case .refuse(let error) = exchange.passed(at: 15) else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == "control.late" && error.isRetriable)
    }

    @Test func `a waiting client gets signs of life`() {
        var exchange = ControlExchange(at: 0)
        _ = exchange.received(bytes("{}\n"), at: 1)
        #expect(exchange.passed(at: 5.9) == .wait)
        #expect(exchange.passed(at: 6) == .reassure)
        exchange.answer(bytes("1234"), isLast: false, at: 6)
        #expect(exchange.wrote(4, at: 6) == .wait)
        #expect(exchange.passed(at: 10.9) == .wait)
        #expect(exchange.passed(at: 11) == .reassure)
    }

    @Test func `a client that takes nothing is closed, and a slow one is not`() {
        var exchange = ControlExchange(at: 0)
        _ = exchange.received(bytes("{}\n"), at: 0)
        exchange.answer(bytes("123456"), isLast: false, at: 1)
        #expect(exchange.wrote(0, at: 9) == .wait)
        #expect(exchange.wrote(2, at: 10) == .wait)
        #expect(exchange.output == bytes("3456"))
        #expect(exchange.passed(at: 19.9) == .wait)
        #expect(exchange.passed(at: 20) == .close)
    }

    @Test func `after the last byte of the last answer it is closed`() {
        var exchange = ControlExchange(at: 0)
        _ = exchange.received(bytes("{}\n"), at: 0)
        exchange.answer(bytes("12"), isLast: true, at: 1)
        #expect(exchange.wrote(1, at: 1) == .wait)
        #expect(exchange.wrote(1, at: 1) == .close)
        #expect(exchange.wrote(nil, at: 1) == .close)
    }
}
