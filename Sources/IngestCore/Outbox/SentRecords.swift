import KafkaClient
import Synchronization

/// Reads the topic that an outbox fills: where its partitions end, and which entries stand among their last records.
final class SentRecords: Sendable {
    /// A page of the store's entries, in their order.
    struct Page {
        let entries: [Int64]
        /// The number behind which the next page begins.
        let end: Int64
    }

    /// Returns the number of the outbox's entry that a record carries, or nil.
    typealias Entry = (ConsumedRecord) throws -> Int64?

    private let topic: String
    private let topics: any TopicLister
    private let sources: any RecordSources
    private let clock: WorkerClock
    private let isEnding = Atomic(false)

    /// A worker that ends may have to wait for two answers.
    private static let timeoutMilliseconds = 2000
    private static let silenceSeconds = 10.0
    /// The number of records before a partition's end among which entries are looked for.
    static let spans: [Int64] = [100, Int64(entryLimit)]
    /// The number of entries that are looked for at most: each has a record.
    static let entryLimit = 10_000
    /// The number of records before a partition's end among which a gap is looked for. A broker compacts older ones.
    private static let gapSpan: Int64 = 1000
    static let endsUnheard = KafkaError(.timedOut, "the worker ends before the broker answers")

    init(topic: String, topics: any TopicLister, sources: any RecordSources, clock: WorkerClock) {
        self.topic = topic
        self.topics = topics
        self.sources = sources
        self.clock = clock
    }

    /// Whether the worker ends: it asks no broker any more.
    var isStopping: Bool { isEnding.load(ordering: .acquiring) }

    /// Ends a look that waits for records.
    func prepareToStop() { isEnding.store(true, ordering: .releasing) }

    // MARK: Ends

    /// Returns the numbers of the topic's partitions; empty where there is no such topic.
    func partitions() throws -> Set<Int32> {
        let topics = try topics.metadata(timeoutMilliseconds: Self.timeoutMilliseconds).topics
        return Set(topics[topic, default: []].map(\.number))
    }

    /// Returns the ends of partitions as the broker tells them; a partition of which nothing was answered is absent.
    func toldEnds(of partitions: [Int32]) throws -> [Int32: Int64] {
        let told = try topics.ends(
            of: partitions.map { TopicPartition(topic, $0) }, timeoutMilliseconds: Self.timeoutMilliseconds)
        return Dictionary(uniqueKeysWithValues: told.map { ($0.key.partition, $0.value) })
    }

    /// Returns the first retained offset of a partition, and its end.
    func watermarks(_ partition: Int32) throws -> Watermarks {
        try topics.watermarks(TopicPartition(topic, partition), timeoutMilliseconds: Self.timeoutMilliseconds)
    }

    /// Returns the end of a partition. Where the broker tells one before the mark, the records show whether it is right.
    /// Tansu 0.6 tells an end that lies within the last batch.
    func end(of partition: Int32, told: Int64, mark: Int64) throws -> Int64 {
        var end = told
        if told < mark { try read(partition, from: told, before: mark) { end = $0.offset + 1 } }
        return end
    }

    // MARK: Entries

    /// Returns the last entry of a partition before an offset, or nil where there is none among the last records.
    func lastEntry(_ partition: Int32, before end: Int64, _ entry: Entry) throws -> Int64? {
        if end == 0 { return nil }
        let low = try watermarks(partition).low
        for span in Self.spans where low < end {
            let start = max(low, end - span)
            var last: Int64?
            try read(partition, from: start, before: end) { last = try entry($0) ?? last }
            if last != nil || start == low { return last }
        }
        return nil
    }

    /// Returns the first entry of the store that partitions lack among their last records; nil where none is, or nobody can
    /// tell. A worker that does not know yet that another has taken its store over may have written over lost records.
    /// So a later entry than the lost ones may stand there.
    ///
    /// - Parameters:
    ///   - last: the entry up to which nothing may be lacking.
    ///   - ends: where the partitions end that may have an entry.
    ///   - page: reads the store's entries behind a number; nil where none follow.
    func firstGap(
        through last: Int64, ends: [Int32: Int64], _ entry: Entry, page: (Int64) throws -> Page?
    ) throws -> Int64? {
        var (reached, present): (Int64, Set<Int64>) = (0, [])
        for (partition, end) in ends.sorted(by: { $0.key < $1.key }) where end > 0 {
            let start = max(try watermarks(partition).low, end - Self.gapSpan)
            var first = Int64.max
            let isRead = try read(partition, from: start, before: end) { record in
                guard let found = try entry(record) else { return }
                present.insert(found)
                first = min(first, found)
            }
            if !isRead { return nil }
            // Entries before the first one may stand before these records.
            if start > 0 { reached = max(reached, first) }
        }
        while reached < last, let page = try page(reached) {
            if let gap = page.entries.first(where: { $0 <= last && !present.contains($0) }) { return gap }
            reached = page.end
        }
        return nil
    }

    // MARK: Reading

    /// Reads a partition from one offset up to another, or up to its end where that comes first.
    ///
    /// - Returns: whether it came so far. The worker may only write, or an open transaction hides the rest.
    /// - Throws: `KafkaError` where the broker is silent; what `each` throws.
    @discardableResult
    func read(
        _ number: Int32, from start: Int64, before end: Int64, _ each: (ConsumedRecord) throws -> Void
    ) throws -> Bool {
        let partition = TopicPartition(topic, number)
        let source = try sources.withoutGroup()
        defer { try? source.close(timeoutMilliseconds: Self.timeoutMilliseconds) }
        try source.assign(adding: [partition: start])
        var heard = clock.seconds()
        while clock.seconds() - heard < Self.silenceSeconds, !isStopping {
            let batch = try source.poll(maxRecords: 1000, timeoutMilliseconds: 100)
            for record in batch {
                if record.offset < end { try each(record) }
                if record.offset >= end - 1 { return true }
            }
            let ends = batch.errors.filter { $0.error.code == .partitionEnd }
            if !ends.isEmpty { return ends.contains { $0.offset ?? 0 >= end } }
            let codes = batch.errors.map(\.error.code)
            if codes.contains(KafkaError.Code("TOPIC_AUTHORIZATION_FAILED")) { return false }
            if !batch.isEmpty { heard = clock.seconds() }
        }
        if isStopping { throw Self.endsUnheard }
        throw KafkaError(
            .timedOut, "the broker has given nothing of \(partition) for \(Int(Self.silenceSeconds)) seconds")
    }
}
