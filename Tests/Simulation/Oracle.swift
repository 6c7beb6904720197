import GraphCore
import IngestCore
import KafkaClient
import Logging
import MemoryStorage
import RecordDecoding

/// The store as one worker makes it that nothing happens to: each partition's records, one after the other.
struct Oracle {
    private let objects: [String]
    private let letters: [String]

    /// I2 and I3: the store has the effect of all records before its positions, and of no other.
    static func check(_ world: World) throws {
        for store in world.stores { try check(store, world) }
    }

    private static func check(_ store: SimulatedStore, _ world: World) throws {
        if store.readings.values.contains(where: \.isUnclear) { return }
        let oracle = try Oracle(store, world, before: store.positions)
        let found = try store.read(objects)
        // A retry finds an event stale by now, and is done with it. So the letters count that were ever committed.
        let letters = Self.lines(of: store.letters, world)
        if oracle.letters != letters {
            let (missing, surplus) = (
                Set(oracle.letters).subtracting(letters).sorted(), Set(letters).subtracting(oracle.letters).sorted()
            )
            return world.violate(
                "I2",
                "\(store.name) has \(letters.count) dead letters, the oracle \(oracle.letters.count): "
                    + "missing \(missing.prefix(10)), surplus \(surplus.prefix(10))")
        }
        if oracle.objects == found { return }
        let missing = lines(of: oracle.objects, notIn: found)
        let surplus = lines(of: found, notIn: oracle.objects)
        world.violate(
            "I2",
            "\(store.name) is not the oracle's\n" + missing.map { "    - \($0)\n" }.joined()
                + surplus.map { "    + \($0)\n" }.joined())
    }

    private init(_ found: SimulatedStore, _ world: World, before positions: [TopicPartition: Int64]) throws {
        let store = Store(MemoryStorage(MemoryPlace(model: world.model, identity: "oracle")), model: world.model)
        var options = WriterContext.Options()
        options.author = "oracle"
        options.setDeletionThreshold = world.setDeletionThreshold
        let writer = try WriterContext(store: store, options: options)
        var configuration = found.configuration
        configuration.store.writers = .one
        // The oracle's chunks are large: where the workers' chunks end must not matter.
        configuration.chunk.maxOperations = 500
        configuration.chunk.maxBacklogOperations = 500
        configuration.chunk.threads = 1
        let logger = Logger(label: "oracle") { _ in SwiftLogNoOpLogHandler() }
        let pipeline = IngestPipeline(writer: writer, configuration: configuration, metrics: nil, logger: logger)
        let decoder = try EventDecoder(
            model: world.model, format: .cloudevents, routes: [], place: "topic events", limits: configuration.limits,
            nullValues: [], registry: nil)
        for partition in found.inputs {
            pipeline.begin(topic: partition.topic, partition: partition.partition, at: nil)
            for part in Self.parts(of: partition, found, world, before: positions[partition] ?? 0) {
                let start = SourcePosition(
                    topic: partition.topic, partition: partition.partition, nextOffset: part.start)
                if part.start > 0 || part.isJump { try pipeline.move(to: [start]) }
                for record in RecordBatch(part.records) {
                    let source = ConsumerWorker.source(record, partition)
                    try pipeline.add(source, nextOffset: record.offset + 1, hasBacklog: true) {
                        record throws(DecodeError) in
                        try decoder.decode(record)
                    }
                }
            }
            try pipeline.finish()
        }
        objects = try store.read(Self.objects)
        letters = try Self.lines(of: store.read { try $0.deadLetters(after: 0, limit: 1_000_000) }, world)
    }

    /// The records of a partition that the store has, log by log.
    private static func parts(
        of partition: TopicPartition, _ store: SimulatedStore, _ world: World, before end: Int64
    ) -> [(start: Int64, isJump: Bool, records: [(record: ProducerRecord, offset: Int64)])] {
        guard let log = world.broker.logs[partition] else { return [] }
        guard world.losesInputs else { return [(0, false, log.records.filter { $0.offset < end })] }
        let parts = store.readings[partition]?.parts ?? []
        return parts.enumerated().map { index, part in
            let records = part.offsets.compactMap { offset in
                log.record(at: offset, of: part.generation).map { (record: $0, offset: offset) }
            }
            return (part.offsets.lowerBound, index > 0, records)
        }
    }

    /// The places and codes of dead letters. A record that is read again behind a jump finds other objects, and may be
    /// refused for another reason.
    private static func lines(of letters: [DeadLetter], _ world: World) -> [String] {
        letters.map { letter in
            "\(letter.topic)/\(letter.partition) offset \(letter.offset)" + (world.losesInputs ? "" : " \(letter.code)")
        }.sorted()
    }

    /// The texts of objects and tombstones in a dump. The positions after them may stand behind offsets without records.
    private static func objects(_ context: ReadContext) throws -> [String] {
        var texts: [String] = []
        var areComplete = false
        try context.canonicalDump { text in
            areComplete = areComplete || text == "positions\n"
            if !areComplete { texts.append(text) }
        }
        return texts
    }

    private static func lines(of texts: [String], notIn others: [String]) -> [Substring] {
        let known = Set(others.flatMap { $0.split(separator: "\n") })
        return Array(texts.flatMap { $0.split(separator: "\n") }.filter { !known.contains($0) }.prefix(10))
    }
}
