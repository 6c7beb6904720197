import Testing

@testable import IngestCore

@Suite struct ProgressMeterTests {
    private static func step(_ count: Int, _ share: Double?) -> ProgressMeter.Step {
        ProgressMeter.Step("events.jsonl", count: count, noun: "record", share: share)
    }

    @Test func `a terminal shows the amount, the rate and the time left`() {
        var meter = ProgressMeter(.terminal, at: 100)
        meter.update(Self.step(0, 0), at: 100)
        meter.update(Self.step(12_000, 0.25), at: 110)
        #expect(
            meter.line(at: 110)
                == "events.jsonl  ██████░░░░░░░░░░░░░░░░░░ 25 %  12,000 records, 1,200/s, 30 s left")
    }

    @Test func `a short work shows nothing`() {
        var meter = ProgressMeter(.terminal, at: 0)
        #expect(meter.line(at: 5) == nil)
        meter.update(Self.step(5, 0.5), at: 0)
        #expect(meter.line(at: 0.9) == nil)
        #expect(meter.line(at: 1) != nil)
    }

    @Test func `a file gets a line every ten seconds`() {
        var meter = ProgressMeter(.lines, at: 0)
        meter.update(Self.step(0, 0), at: 0)
        var lines: [Double] = []
        for tenth in 0...350 {
            let time = Double(tenth) / 10
            meter.update(Self.step(tenth, Double(tenth) / 1000), at: time)
            if let line = meter.line(at: time) {
                lines.append(time)
                #expect(!line.contains("█") && line.contains(" % "))
            }
        }
        #expect(lines == [10, 20, 30])
    }

    @Test func `a work that goes on counts only what it does now`() {
        var meter = ProgressMeter(.lines, at: 0)
        meter.update(Self.step(9000, 0.9), at: 0)
        meter.update(Self.step(9500, 0.95), at: 10)
        #expect(meter.line(at: 10) == "events.jsonl  95 %  9,500 records, 50/s, 10 s left")
    }

    @Test func `the next step begins anew`() {
        var meter = ProgressMeter(.lines, at: 0)
        meter.update(Self.step(9000, 1), at: 10)
        meter.update(ProgressMeter.Step("b", count: 0, noun: "row"), at: 100)
        meter.update(ProgressMeter.Step("b", count: 25, noun: "row"), at: 110)
        #expect(meter.line(at: 110) == "b  25 rows, 2.5/s, 10 s so far")
    }

    @Test func `the parts of a step have one share and one time left`() {
        var meter = ProgressMeter(.lines, at: 0)
        meter.update(ProgressMeter.Step("verifying", part: "values", count: 100, noun: "value", share: 0), at: 0)
        meter.update(ProgressMeter.Step("verifying", part: "links", count: 1100, noun: "value", share: 0.2), at: 10)
        #expect(meter.line(at: 10) == "verifying links  20 %  1,100 values, 100/s, 40 s left")
    }

    @Test func `one thing is no plural`() {
        var meter = ProgressMeter(.terminal, at: 0)
        meter.update(ProgressMeter.Step("Chat", count: 1, noun: "row"), at: 0)
        #expect(meter.line(at: 1) == "Chat  1 row, 1 s so far")
    }

    @Test func `a phrase has the step, its share and the time left`() {
        var meter = ProgressMeter(.lines, at: 0)
        #expect(meter.phrase(at: 0) == nil && meter.share == nil)
        meter.update(ProgressMeter.Step("copying", part: "Chat", count: 0, noun: "row", share: 0), at: 0)
        #expect(meter.phrase(at: 1) == "copying Chat, 0 %, 1 s so far")
        meter.update(ProgressMeter.Step("copying", part: "Message", count: 50, noun: "row", share: 0.5), at: 90)
        #expect(meter.phrase(at: 90) == "copying Message, 50 %, 1 min 30 s left" && meter.share == 0.5)
    }

    @Test func `a step whose end is not known shows its time`() {
        var meter = ProgressMeter(.terminal, at: 0)
        meter.update(ProgressMeter.Step("integrity, check 1 of 17"), at: 0)
        #expect(meter.line(at: 75) == "integrity, check 1 of 17  1 min 15 s so far")
    }

    @Test func `a share that stands still has no time left`() {
        var meter = ProgressMeter(.lines, at: 0)
        meter.update(Self.step(5, 0.5), at: 0)
        #expect(meter.line(at: 60) == "events.jsonl  50 %  5 records, 0/s, 1 min 0 s so far")
        #expect(ProgressMeter.Step("a", share: 7).share == 1)
        #expect(ProgressMeter.Step("a", share: .nan).share == 0)
    }

    @Test(
        arguments: [
            (0, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (7380, "2 h 3 min"),
            (363_600, "4 d 5 h"), (-5, "0 s"), (.infinity, "115740 d 17 h"),
        ] as [(Double, String)])
    func `durations are written for a person`(_ seconds: Double, _ text: String) {
        #expect(ProgressMeter.duration(seconds) == text)
    }
}
