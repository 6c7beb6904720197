import Foundation
import ObjectGraph
import Testing

@testable import IngestCore

/// The lines of the control channel: what is said arrives, and what is not understood is refused.
@Suite struct ControlLineTests {
    private static let selection: DeadLetterSelection = {
        var selection = DeadLetterSelection()
        selection.ids = [3, .max]
        selection.topic = "file:/a \"b\"\n"
        selection.partition = 7
        selection.stage = "apply"
        selection.code = "decode.type"
        selection.before = -1
        selection.since = 5
        selection.reason = "100 %"
        return selection
    }()

    private static let requests: [ControlRequest] = [
        .retryDeadLetters(selection), .retryDeadLetters(DeadLetterSelection()), .dropDeadLetters(selection),
        .purgeHistory(HistoryPurge(before: .time(1_700_000_000_000_000))),
        .purgeHistory(
            {
                var purge = HistoryPurge(before: .token(12))
                purge.passesCursorsSavedBefore = .max
                return purge
            }()),
        .putCursor("feed \\ é", token: 5), .removeCursor(""), .dropConflicts(through: 9),
        .exportDeadLetters(selection), .verify, .backUp(verifies: false), .confirmPurges,
    ]

    private static let report = VerificationReport(checks: [
        VerificationReport.Check(
            name: "values", checkedCount: 9,
            problems: [
                VerificationReport.Problem(entity: "Chat", identity: "a \"b\"", property: "title", what: "is no text"),
                VerificationReport.Problem(entity: "store", identity: nil, property: nil, what: "is damaged"),
            ], problemCount: 300)
    ])

    private static let held = HeldPurges(
        gap: PurgeGuard.Gap(from: 1_700_000_000_000_000, to: 1_800_000_000_000_001),
        due: [.history: 3, .tombstones: 0, .audit: 1])

    private static let backup = BackupSummary(
        path: "/backup/a.sqlite", byteCount: 5, lastTransaction: 4,
        positions: [SourcePosition(topic: "t", partition: 3, nextOffset: 2)], isVerified: true)

    private func code(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch { return (error as? ControlError)?.code }
    }

    private func read(_ line: String) throws -> ControlEnvelope { try ControlEnvelope(line: [UInt8](line.utf8)) }

    @Test(arguments: requests.indices) func `a request arrives as it was asked`(_ index: Int) throws {
        let request = Self.requests[index]
        let line = ControlEnvelope(store: "s-1", configuration: "m-2", request: request).line
        #expect(line.last == 0x0A && !line.dropLast().contains(0x0A))
        let read = try ControlEnvelope(line: line.dropLast())
        #expect((read.store, read.configuration) == ("s-1", "m-2"))
        #expect(read.request.name == request.name && read.request.arguments == request.arguments)
    }

    @Test func `the names of all requests are listed`() {
        #expect(Set(Self.requests.map(\.name)) == Set(ControlRequest.names))
    }

    @Test func `every condition of a selection travels`() throws {
        // A condition that is added and not sent would widen what is dropped.
        let line = ControlEnvelope(
            store: "", configuration: "", request: .dropDeadLetters(Self.selection)
        ).line.dropLast()
        guard case .dropDeadLetters(let read) = try ControlEnvelope(line: Array(line)).request else {
            Issue.record("another request")
            return
        }
        #expect("\(read)" == "\(Self.selection)")
        for condition in Mirror(reflecting: read).children {
            #expect("\(condition.value)" != "nil", "\(condition.label ?? "") is not sent, or not part of this test")
        }
    }

    @Test(
        arguments: [
            ("", "control.malformed"), ("[]", "control.malformed"), ("{", "control.malformed"),
            (#"{"request":"history.purge"}"#, "control.version"),
            (#"{"version":2,"request":"history.purge"}"#, "control.version"),
            (#"{"version":1}"#, "control.malformed"),
            (#"{"version":1,"request":"shell","store":"","configuration":"","arguments":{}}"#, "control.unknown"),
            (
                #"{"version":1,"request":"dead-letters.drop","store":"","configuration":"","arguments":{"entity":"Chat"}}"#,
                "control.unknown"
            ),
            (
                #"{"version":1,"request":"dead-letters.drop","store":"","configuration":"","arguments":{"topic":null}}"#,
                "control.malformed"
            ),
            (
                #"{"version":1,"request":"dead-letters.drop","store":"","configuration":"","arguments":{"ids":[1,"2"]}}"#,
                "control.malformed"
            ),
            (#"{"version":1,"request":"dead-letters.drop","store":"","configuration":""}"#, "control.malformed"),
            (
                #"{"version":1,"request":"history.purge","store":"","configuration":"","arguments":{"passesCursors":true}}"#,
                "control.malformed"
            ),
            (
                #"{"version":1,"request":"cursors.put","store":"","configuration":"","arguments":{"name":"a"}}"#,
                "control.malformed"
            ),
        ])
    func `a line that cannot be understood is refused`(_ line: String, _ expected: String) throws {
        #expect(code { _ = try read(line) } == expected)
    }

    @Test func `a line that nests too deeply is refused`() {
        #expect(code { _ = try read(String(repeating: "[", count: 10_000)) } == "control.malformed")
    }

    @Test func `an answer arrives as it was given`() throws {
        var summary = DeadLetterRetry.Summary()
        (summary.tried, summary.applied, summary.stale, summary.filtered, summary.failed) = (15, 5, 4, 3, 3)
        let purged = PurgeResult(
            transactionCount: 4, changeRowCount: 9, holdingCursors: ["a \"b\"": 1], passedCursors: ["c": 2, "d": 3])
        let answers: [(ControlRequest, ControlAnswer)] = [
            (Self.requests[0], .waiting), (Self.requests[0], .note("a\n\"line\"")),
            (Self.requests[0], .result(.retried(summary))), (Self.requests[2], .result(.dropped(3))),
            (Self.requests[3], .result(.purged(purged))), (Self.requests[5], .result(.cursorPut)),
            (Self.requests[6], .result(.cursorRemoved(true))), (Self.requests[6], .result(.cursorRemoved(false))),
            (Self.requests[7], .result(.conflictsDropped(2))), (Self.requests[7], .failure(.ending)),
            (.exportDeadLetters(Self.selection), .result(.exported(7))),
            (.confirmPurges, .result(.purgesConfirmed(Self.held))), (.confirmPurges, .result(.purgesConfirmed(nil))),
            (.verify, .result(.verified(Self.report))), (.backUp(verifies: true), .result(.backedUp(Self.backup))),
        ]
        for (request, answer) in answers {
            let line = answer.line
            #expect(line.last == 0x0A && !line.dropLast().contains(0x0A))
            #expect(try ControlAnswer(line: line.dropLast(), to: request) == answer)
        }
        // Of a newer worker.
        let newer = [UInt8](#"{"version":1,"answer":"progress","done":0.5}"#.utf8)
        #expect(try ControlAnswer(line: newer, to: Self.requests[0]) == .waiting)
    }

    @Test func `a log has the counts of a verification, and not its report`() {
        let line = ControlResult.verified(Self.report).logLine
        #expect(line == #"{"isSound":false,"problemCount":300,"checkedCount":9}"#)
        #expect(ControlResult.dropped(3).logLine == ControlResult.dropped(3).json)
    }

    @Test func `a step arrives as it was told`() throws {
        let steps: [StoreStep] = [
            .writing(path: "/b \"c\"", byteCount: 5), .copying(table: "Chat", rowCount: 7),
            .verifying(check: "derived", checkedCount: .max, share: 0.25),
            .verifying(check: "keys", checkedCount: 0, share: nil),
        ]
        for step in steps {
            let answer = ControlAnswer.step(step)
            #expect(try ControlAnswer(line: answer.line.dropLast(), to: .verify) == answer)
        }
    }

    @Test func `an error of the store keeps its code, text and remedy`() throws {
        let store = try Store.inMemory(model: TestModels.chat())
        let writer = try WriterContext(store: store)
        #expect {
            _ = try WriterContext(store: store)
        } throws: { error in
            let refused = ControlError(error)
            let read = try? ControlAnswer(line: ControlAnswer.failure(refused).line.dropLast(), to: Self.requests[0])
            return read == .failure(refused) && refused.code == "store.leased" && refused.isRetriable
                && refused.description == "\(error)"
        }
        try writer.close()
    }

    @Test func `the page lists each code`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/reference/errors.md"), encoding: .utf8)
        for code in ControlError.Kind.allCases { #expect(page.contains("`\(code.rawValue)`"), "\(code)") }
    }

    @Test func `a request that is longer than the channel takes is not sent`() throws {
        var selection = DeadLetterSelection()
        selection.ids = Array(repeating: .max, count: 60_000)
        let path = FileManager.default.temporaryDirectory.appending(path: "long-\(UUID().uuidString)").path
        let listener = try ControlSocket.listen(at: path)
        defer {
            listener.close()
            try? FileManager.default.removeItem(atPath: path)
        }
        var client = try #require(try ControlClient(path: path))
        let envelope = ControlEnvelope(store: "", configuration: "", request: .dropDeadLetters(selection))
        #expect(code { _ = try client.ask(envelope) { _ in } } == "control.too_long")
        client.close()
    }

    @Test func `root and the worker's own user may ask, and nobody else`() {
        #expect(ControlPeer(process: 1, user: 0).mayAsk(workerOf: 10_001))
        #expect(ControlPeer(process: 1, user: 10_001).mayAsk(workerOf: 10_001))
        #expect(!ControlPeer(process: 1, user: 10_002).mayAsk(workerOf: 10_001))
        #expect(!ControlPeer(process: 1, user: 10_002).mayAsk(workerOf: 0))
    }
}
