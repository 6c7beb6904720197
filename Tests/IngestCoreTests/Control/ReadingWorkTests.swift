import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import IngestCore

/// Requests that only read, on a thread beside the writer's.
@Suite(.timeLimit(.minutes(60))) struct ReadingWorkTests {
    private let served: ServedStore

    /// A store with four dead letters of three megabytes.
    init() throws {
        served = try ServedStore()
        let letters = (0..<4).map { offset in
            DeadLetter(
                time: 0, topic: "events", partition: 0, offset: Int64(offset), stage: "decode", code: "decode.type",
                reason: "r", key: nil, value: [UInt8](repeating: 0x78, count: 3 << 20), valueBytes: 3 << 20)
        }
        _ = try served.writer.apply(WriterContext.Chunk(events: [], deadLetters: letters))
        try served.writer.commit()
    }

    @Test func `an export has as many bytes in memory as a chunk, and reads the rest later`() throws {
        var configuration = WorkerConfiguration()
        configuration.store.path = served.path
        configuration.chunk.maxBytes = 4 << 20
        let work = ReadingWork(
            request: .exportDeadLetters(DeadLetterSelection()), configuration: configuration,
            model: WorkerHarness.model, time: 0)
        var given: [String] = []
        let result = try work.run(give: { line in
            // The writer removes the letters that no batch has read yet.
            if given.isEmpty {
                try served.writer.removeDeadLetters([1, 2, 3, 4])
                try served.writer.commit()
            }
            given.append(String(line.prefix(30)))
        })
        #expect(result == .exported(2))
        #expect(given.map { $0.contains("\"deadLetter\":1,") } == [true, false])
    }

    private func submit(_ request: ControlRequest, key: String? = nil) -> ControlTicket {
        let ticket = ControlTicket(served.desk.envelope(request, key: key), from: "a test") {}
        served.desk.submit(ticket)
        return ticket
    }

    private func entries() throws -> [String] {
        try served.writer.store.read { try $0.auditEntries() }.map { entry in
            "\(entry.action) \(entry.summary.split(separator: "}  ").last ?? "")"
        }
    }

    @Test func `a request that is refused because another one reads leaves an entry`() throws {
        let export = DeadLetterSelection()
        // It waits for its client after the first line.
        let first = submit(.exportDeadLetters(export), key: "export")
        try served.desk.serve(served.writer) {}
        let second = submit(.verify, key: "verify")
        try served.desk.serve(served.writer) {}
        let again = submit(.exportDeadLetters(export), key: "export")
        try served.desk.serve(served.writer) {}
        for ticket in [second, again] {
            #expect(ticket.takeAnswers().answers.last == .failure(.busyReading))
        }
        #expect(
            try entries() == [
                "verify failed: control.busy, Another verification, backup or export is under way",
                "dead-letters.export unfinished",
            ])
        first.abandon()
        while try entries().last?.contains("control.abandoned") != true { try served.desk.serve(served.writer) {} }
    }
}
