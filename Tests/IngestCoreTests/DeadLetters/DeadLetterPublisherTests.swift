import KafkaClient
import ObjectGraph
import Synchronization
import Testing

@testable import IngestCore

@Suite struct DeadLetterPublisherTests {
    /// A sink that keeps its records, and fails a stated number of times. Of a batch with a record that is too
    /// large it keeps the others, as a broker does.
    private final class CollectingSink: RecordSink {
        struct Refusal: Error {}
        private let state = Mutex<(kept: [ProducerRecord], failures: Int, batchSizes: [Int])>(([], 0, []))
        private let largestValueBytes: Int

        init(largestValueBytes: Int = .max) { self.largestValueBytes = largestValueBytes }

        var records: [ProducerRecord] { state.withLock { $0.kept } }
        var batchSizes: [Int] { state.withLock { $0.batchSizes } }
        func fail(_ times: Int) { state.withLock { $0.failures = times } }

        func deliver(_ records: [ProducerRecord]) throws {
            try state.withLock { state in
                state.batchSizes.append(records.count)
                guard state.failures == 0 else {
                    state.failures -= 1
                    throw Refusal()
                }
                let fitting = records.filter { $0.value?.count ?? 0 <= largestValueBytes }
                state.kept += fitting
                if fitting.count < records.count { throw KafkaError(.messageTooLarge) }
            }
        }

        func prepareToStop() {}
        func close() {}
    }

    private func publisher(
        _ fixture: PipelineFixture, _ sink: CollectingSink, maxUnsent: Int = 0, health: HealthMonitor? = nil
    ) throws -> Outbox {
        var configuration = WorkerConfiguration()
        (configuration.deadLetters.topic, configuration.deadLetters.maxUnsent) = ("dead", maxUnsent)
        return try .deadLetters(
            store: fixture.store, sink: sink, topic: "dead", configuration: configuration, health: health,
            logger: .silent)
    }

    private func fixture(letters: Int) throws -> PipelineFixture {
        let fixture = try PipelineFixture()
        try add(letters: 0..<letters, to: fixture)
        return fixture
    }

    private func add(letters: Range<Int>, to fixture: PipelineFixture) throws {
        for number in letters { try fixture.add(TestRecord("{\"bad\":\(number)}", offset: Int64(number))) }
        try fixture.pipeline.finish()
    }

    private func header(_ name: String, _ record: ProducerRecord) -> String? {
        record.headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    private func offsets(_ sink: CollectingSink) -> [String?] {
        sink.records.map { header("__connect.errors.offset", $0) }
    }

    private var soon: Double { MonotonicClock.seconds() + 60 }

    // MARK: The outbox

    @Test func `sends the dead letters of the store in their order`() throws {
        let fixture = try fixture(letters: 1200)
        let sink = CollectingSink()
        let publisher = try publisher(fixture, sink)
        try publisher.drain(untilSeconds: soon)
        #expect(offsets(sink) == (0..<1200).map { "\($0)" })
        #expect(publisher.takeCursor() == 1200)
        #expect(publisher.takeCursor() == nil)
    }

    @Test func `goes on after the cursor that the store has`() throws {
        let fixture = try fixture(letters: 3)
        let sink = CollectingSink()
        let first = try publisher(fixture, sink)
        try first.drain(untilSeconds: soon)
        try fixture.writer.putSentDeadLetter(try #require(first.takeCursor()), topic: "dead")
        try fixture.writer.commit()
        try add(letters: 3..<5, to: fixture)
        let second = try publisher(fixture, sink)
        try second.drain(untilSeconds: soon)
        #expect(offsets(sink) == ["0", "1", "2", "3", "4"])
        // Another topic has a cursor of its own.
        #expect(try fixture.store.read { try $0.sentDeadLetter(topic: "other") } == 0)
    }

    @Test func `repeats what was not saved and skips nothing`() throws {
        let fixture = try fixture(letters: 2)
        let sink = CollectingSink()
        try publisher(fixture, sink).drain(untilSeconds: soon)
        // As after a crash before the cursor was saved.
        try publisher(fixture, sink).drain(untilSeconds: soon)
        #expect(offsets(sink) == ["0", "1", "0", "1"])
        let numbers = Set(sink.records.map { header("ingest.deadletter.id", $0) })
        #expect(numbers.count == 2)
    }

    @Test func `a delivery that fails is tried again`() throws {
        let fixture = try fixture(letters: 2)
        let sink = CollectingSink()
        sink.fail(1)
        let publisher = try publisher(fixture, sink)
        #expect(throws: CollectingSink.Refusal.self) { try publisher.deliverNext() }
        #expect(publisher.takeCursor() == nil && publisher.cursor == 0)
        try publisher.drain(untilSeconds: soon)
        #expect(offsets(sink) == ["0", "1"])
    }

    @Test func `a letter that is too large is cut, and its neighbours are not sent without end`() throws {
        let fixture = try fixture(letters: 50)
        try fixture.add(TestRecord("{\"bad\":\"\(String(repeating: "x", count: 10_000))\"}", offset: 50))
        try add(letters: 51..<60, to: fixture)
        let sink = CollectingSink(largestValueBytes: 5000)
        let publisher = try publisher(fixture, sink)
        try publisher.drain(untilSeconds: soon)
        #expect(publisher.cursor == 60)
        let copies = Dictionary(grouping: offsets(sink)) { $0 }.mapValues(\.count)
        #expect(copies.count == 60 && copies.values.allSatisfy { $0 <= 2 })
        let cut = try #require(sink.records.first { header("__connect.errors.offset", $0) == "50" })
        #expect((1000...5000).contains(cut.value?.count ?? 0))
        #expect(header("ingest.deadletter.value.bytes", cut) == "10010")
    }

    @Test func `a topic that refuses every letter gets one with each attempt`() throws {
        let fixture = try fixture(letters: 30)
        let sink = CollectingSink(largestValueBytes: -1)
        let publisher = try publisher(fixture, sink)
        for _ in 0..<3 { #expect(throws: KafkaError.self) { try publisher.deliverNext() } }
        #expect(publisher.cursor == 0)
        #expect(sink.batchSizes.filter { $0 > 1 } == [30])
    }

    @Test func `dead letters that are gone are not sent`() throws {
        let fixture = try fixture(letters: 3)
        try fixture.writer.removeDeadLetters([2])
        let sink = CollectingSink()
        try publisher(fixture, sink).drain(untilSeconds: soon)
        #expect(offsets(sink) == ["0", "2"])
    }

    @Test func `holds little in memory at a time`() throws {
        let fixture = try PipelineFixture()
        for number in 0..<6 {
            let text = "{\"bad\":\"\(String(repeating: "x", count: number == 0 ? 5 << 20 : 1 << 20))\"}"
            try fixture.add(TestRecord(text, offset: Int64(number)))
        }
        try fixture.pipeline.finish()
        let publisher = try publisher(fixture, CollectingSink())
        #expect(try publisher.deliverNext() == 1)
        #expect(try publisher.deliverNext() == 3)
        #expect(try publisher.deliverNext() == 2)
    }

    // MARK: The limit

    @Test func `reading waits when too many are unsent`() throws {
        let fixture = try fixture(letters: 3)
        let sink = CollectingSink()
        let publisher = try publisher(fixture, sink, maxUnsent: 4)
        #expect(!publisher.isFull)
        try add(letters: 3..<4, to: fixture)
        publisher.committed(1)
        #expect(publisher.isFull)
        try publisher.drain(untilSeconds: soon)
        #expect(!publisher.isFull)
        // What waits at the start counts too.
        #expect(try self.publisher(fixture, sink, maxUnsent: 4).isFull)
    }

    // MARK: Records

    private func letter(stage: String = "decode", value: [UInt8]? = Array("{".utf8)) -> DeadLetter {
        var letter = DeadLetter(
            time: 1_767_323_045_123_456, topic: "events", partition: 3, offset: 42, stage: stage,
            code: "json.truncated",
            reason: "It ends too early", key: [0, 1], value: value, valueBytes: value?.count ?? 0,
            headers: "[[\"h\",\"AP8=\"],[\"empty\",null]]")
        (letter.id, letter.attempts) = (7, 2)
        return letter
    }

    private func record(_ letter: DeadLetter, maximumBytes: Int = 900_000) -> ProducerRecord {
        DeadLetterRecord(topic: "dead", author: "worker", storeIdentity: "store", maximumBytes: maximumBytes)
            .record(letter)
    }

    @Test func `a record has the original bytes and the headers of Kafka Connect`() {
        let record = record(letter())
        #expect((record.topic, record.partition) == ("dead", nil))
        #expect((record.key, record.value) == ([0, 1], Array("{".utf8)))
        #expect(record.timestampMilliseconds == 1_767_323_045_123)
        #expect(record.headers.prefix(2) == [RecordHeader("h", [0, 255]), RecordHeader("empty", nil)])
        let texts = record.headers.dropFirst(2).map { header in
            "\(header.name)=\(String(decoding: header.value ?? [], as: UTF8.self))"
        }
        #expect(
            texts == [
                "__connect.errors.topic=events", "__connect.errors.partition=3", "__connect.errors.offset=42",
                "__connect.errors.connector.name=worker", "__connect.errors.task.id=0",
                "__connect.errors.stage=VALUE_CONVERTER", "__connect.errors.class.name=IngestCore.EventDecoder",
                "__connect.errors.exception.class.name=json.truncated",
                "__connect.errors.exception.message=It ends too early", "ingest.deadletter.id=store:7",
                "ingest.deadletter.attempts=2", "ingest.deadletter.time=2026-01-02T03:04:05.123456Z",
            ])
        #expect(header("__connect.errors.stage", self.record(letter(stage: "apply"))) == "TASK_PUT")
        #expect(self.record(letter(value: nil)).value == nil)
        var timed = letter()
        timed.timestampMilliseconds = 1_000_000_000_000
        #expect(header("ingest.deadletter.timestamp", self.record(timed)) == "1000000000000")
    }

    @Test func `a record that is too large is cut and says so`() {
        let value = [UInt8](repeating: 65, count: 10_000)
        let cut = record(letter(value: value), maximumBytes: 4_096)
        #expect((cut.value?.count ?? 0) > 2_000 && (cut.value?.count ?? 0) < 4_096)
        #expect(header("ingest.deadletter.value.bytes", cut) == "10000")
        #expect(cut.key == [0, 1] && header("h", cut) != nil)
        #expect(header("ingest.deadletter.value.bytes", record(letter(value: value))) == nil)
        var large = letter()
        large.key = value
        let bare = record(large, maximumBytes: 4_096)
        #expect(bare.key == nil && header("h", bare) == nil && bare.value == Array("{".utf8))
    }
}
