import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct ProgramRunTests {
    /// The actions that events give, and the code of a failure in words.
    private func actions(_ events: ProgramRun.Event...) -> [String] {
        var run = ProgramRun()
        return events.map { event in
            switch run.take(event) {
            case .fail(let code, _): code
            case .wait(let reason): "wait \(reason)"
            case let action: "\(action)"
            }
        }
    }

    @Test func `a record goes to the process that waits`() {
        #expect(actions(.begin(isProcessReady: true), .answered) == ["send", "finish"])
        #expect(actions(.begin(isProcessReady: false), .started, .answered) == ["start", "send", "finish"])
    }

    @Test func `an end for a reason of its own is not the record's fault`() {
        #expect(
            actions(.begin(isProcessReady: true), .ended(.other), .started, .answered)
                == ["send", "start", "send", "finish"])
        #expect(
            actions(.begin(isProcessReady: true), .silent, .started, .answered) == ["send", "start", "send", "finish"])
    }

    @Test func `a record that ends two processes is at fault`() {
        #expect(
            actions(.begin(isProcessReady: true), .ended(.other), .started, .ended(.other))
                == ["send", "start", "send", "jq.crashed"])
        #expect(
            actions(.begin(isProcessReady: true), .silent, .started, .silent) == ["send", "start", "send", "jq.time"])
    }

    @Test func `memory is judged in a process that saw no other record`() {
        #expect(
            actions(.begin(isProcessReady: true), .ended(.memory), .started, .ended(.memory))
                == ["send", "start", "send", "jq.memory"])
        #expect(
            actions(.begin(isProcessReady: false), .started, .ended(.memory)) == ["start", "send", "jq.memory"])
        #expect(
            actions(.begin(isProcessReady: true), .ended(.memory), .started, .answered)
                == ["send", "start", "send", "finish"])
    }

    @Test func `time is the record's own`() {
        #expect(actions(.begin(isProcessReady: true), .ended(.time)) == ["send", "jq.time"])
    }

    @Test func `a process that cannot be started is nobody's fault`() {
        #expect(actions(.begin(isProcessReady: false), .notStarted("no")) == ["start", "wait no"])
        #expect(
            actions(.begin(isProcessReady: true), .ended(.other), .notStarted("no")) == ["send", "start", "wait no"])
    }
}
