import GraphCore
import KafkaClient
import RecordDecoding

/// The open chunk: decoded events, the bytes of their records in case they fail, dead letters, positions.
struct PendingChunk {
    /// A record whose event waits in the chunk.
    private struct Entry {
        let place: RecordPlace
        let headers: [RecordHeader]
        let content: RecordBytes.Place
        let valueBytes: Int
        let timestampMilliseconds: Int64?
    }

    /// The record of the chunk's first event.
    struct Origin {
        let place: RecordPlace
        /// Its timestamp, in microseconds since 1970 UTC; nil where it has none, or one beyond all time.
        let recordTime: Int64?
        /// When it was read, in microseconds since 1970 UTC.
        let readTime: Int64
        /// Its W3C trace context, or nil.
        let trace: String?

        init(_ record: SourceRecord, readTime: Int64) {
            place = record.place
            recordTime = record.timestampMilliseconds.flatMap { TimeUnit.milliseconds.microseconds($0) }
            self.readTime = readTime
            trace = TraceParent.find(in: record.headers)
        }
    }

    private struct Progress {
        let offset: Int64
        let detail: String?
        /// The last record, whose fingerprint is made when the chunk is saved.
        var last: Last?
    }

    private struct Last {
        let timestampMilliseconds: Int64?
        let content: RecordBytes.Place
        /// Whether it has no entry, so that nothing else needs its bytes.
        let isAlone: Bool
    }

    let events: PackedEvents
    private(set) var deadLetters: [DeadLetter] = []
    private var entries: [Entry] = []
    /// The record of the first event, for the history; nil while there is none.
    private(set) var origin: Origin?
    private var bytes = RecordBytes()
    private var next: [TopicPartition: Progress] = [:]
    /// The source of the last record; its progress is not among the others, for many records come from one source.
    private var current: TopicPartition?
    private var progress = Progress(offset: 0, detail: nil)
    /// The number of records, filtered ones included, and the full size of their values in bytes.
    private(set) var recordCount = 0
    /// The number of records that ask nothing of the store.
    private(set) var filteredCount = 0
    private(set) var recordBytes = 0

    init(_ model: ObjectModel) { events = PackedEvents(model) }

    var isEmpty: Bool { current == nil && next.isEmpty }

    mutating func removeAll() {
        events.removeAll()
        deadLetters.removeAll()
        entries.removeAll(keepingCapacity: true)
        origin = nil
        bytes.removeAll()
        next.removeAll(keepingCapacity: true)
        current = nil
        (recordCount, recordBytes, filteredCount) = (0, 0, 0)
    }

    /// Adds an event.
    ///
    /// - Parameter readTime: returns when the record was read, in microseconds since 1970 UTC.
    mutating func add(_ event: ChangeSet, _ record: SourceRecord, readTime: () -> Int64) {
        if origin == nil { origin = Origin(record, readTime: readTime()) }
        events.append(event)
        entries.append(
            Entry(
                place: record.place, headers: record.headers,
                content: bytes.append(key: record.key, value: record.value),
                valueBytes: record.totalBytes, timestampMilliseconds: record.timestampMilliseconds))
    }

    /// Adds a record that asks nothing of the store.
    mutating func addFiltered() { filteredCount += 1 }

    mutating func add(_ error: DecodeError, _ record: SourceRecord, time: Int64) {
        deadLetters.append(
            DeadLetter(
                time: time, topic: record.place.topic, partition: record.place.partition, offset: record.place.offset,
                line: record.place.line, stage: "decode", code: error.code, reason: error.description,
                key: record.key.map { [UInt8]($0) }, value: record.value.map(Self.kept), valueBytes: record.totalBytes,
                headers: DeadLetterLine.text(record.headers), timestampMilliseconds: record.timestampMilliseconds))
    }

    /// Of a record that is too large only the beginning is kept; its place says where the rest is.
    private static func kept(_ value: UnsafeRawBufferPointer) -> [UInt8] {
        let isKeptWhole = value.count <= DeadLetterLimits.keptBytes
        return isKeptWhole ? [UInt8](value) : [UInt8](value.prefix(DeadLetterLimits.beginningBytes))
    }

    func deadLetter(_ index: Int, _ failure: EventFailure, time: Int64) -> DeadLetter {
        let entry = entries[index]
        return DeadLetter(
            time: time, topic: entry.place.topic, partition: entry.place.partition, offset: entry.place.offset,
            line: entry.place.line, stage: "apply", code: failure.code, reason: failure.description,
            key: bytes.key(entry.content), value: bytes.value(entry.content),
            valueBytes: entry.valueBytes, headers: DeadLetterLine.text(entry.headers),
            timestampMilliseconds: entry.timestampMilliseconds)
    }

    func place(_ index: Int) -> RecordPlace { entries[index].place }

    /// Notes that a record is part of the chunk, whatever becomes of it.
    ///
    /// - Parameter place: where the source's position is kept.
    mutating func advance(past record: SourceRecord, at place: RecordPlace, nextOffset: Int64, detail: String?) {
        recordCount += 1
        recordBytes += record.totalBytes
        turn(to: place)
        // A file has its own fingerprint; a partition is known again by its last record.
        let last = detail == nil && place.line == nil ? self.last(record) : nil
        progress = Progress(offset: nextOffset, detail: detail, last: last)
    }

    /// Makes the source of a place the current one.
    private mutating func turn(to place: RecordPlace) {
        if let current {
            if current.partition == place.partition, current.topic == place.topic { return }
            next[current] = progress
        }
        let source = TopicPartition(place.topic, place.partition)
        progress = next.removeValue(forKey: source) ?? Progress(offset: 0, detail: nil)
        current = source
    }

    private mutating func last(_ record: SourceRecord) -> Last {
        if let entry = entries.last, entry.place == record.place {
            return Last(
                timestampMilliseconds: record.timestampMilliseconds, content: entry.content, isAlone: false)
        }
        if let before = progress.last, before.isAlone { bytes.removeIfLast(before.content) }
        return Last(
            timestampMilliseconds: record.timestampMilliseconds,
            content: bytes.append(key: record.key, value: record.value), isAlone: true)
    }

    /// Notes that reading goes on elsewhere.
    mutating func move(to position: SourcePosition) {
        turn(to: RecordPlace(topic: position.topic, partition: position.partition, offset: position.nextOffset))
        progress = Progress(offset: position.nextOffset, detail: position.detail)
    }

    /// The positions after the chunk; they follow anything.
    var positions: [SourcePosition] {
        var all = next
        if let current { all[current] = progress }
        return all.map { key, progress in
            SourcePosition(
                topic: key.topic, partition: key.partition, nextOffset: progress.offset,
                detail: progress.detail ?? progress.last.map { fingerprint($0).description })
        }.sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
    }

    private func fingerprint(_ last: Last) -> RecordFingerprint {
        bytes.withContent(of: last.content) { RecordFingerprint(last.timestampMilliseconds, $0) }
    }

    /// Where the chunk's first event comes from, for the history.
    var source: String? { origin?.place.position }
}

/// How much of a record a dead letter keeps.
enum DeadLetterLimits {
    /// Records up to this size are kept whole: the default of limits.maxRecordBytes.
    static let keptBytes = 16 << 20
    /// The number of bytes that are kept of larger records.
    static let beginningBytes = 64 << 10
}
