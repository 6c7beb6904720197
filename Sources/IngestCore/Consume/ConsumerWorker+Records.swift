import GraphCore
import KafkaClient
import RecordDecoding

/// How the records of a poll reach the pipeline.
extension ConsumerWorker {
    /// Adds those records to the pipeline that count.
    func process(_ batch: RecordBatch, _ source: any RecordSource) throws {
        let hasBacklog = hasBacklog(after: batch, source)
        var actions: AssignedPartitions.Actions = []
        var ahead = RecordsAhead()
        let runsPrograms = runsPrograms
        for (index, record) in batch.enumerated() {
            if runsPrograms { ahead.give(at: index, of: batch.count) { expect(batch[$0]) } }
            let partition = record.topicPartition
            let input = Self.source(record, partition)
            let verdict = partitions.receive(
                partition, offset: record.offset, fingerprint: RecordFingerprint(input), actions: &actions)
            if !actions.isEmpty {
                tell(actions)
                actions.removeAll()
            }
            if verdict == .skip { continue }
            try takeover?.check(input, partition, offset: record.offset)
            do {
                try add(input, partition, hasBacklog: hasBacklog)
                endDecodeWait(of: partition)
            } catch let error as DecodeError where error.isRetriable {
                beginDecodeWait(of: partition, error)
            }
            if runsPrograms, decoders[partition.topic]?.runsPrograms == true { health.report(.heartbeat) }
        }
        // An end-of-partition event says nothing about other partitions.
        try pipeline.tick(hasBacklog: hasBacklog || (batch.isEmpty && !batch.errors.isEmpty))
    }

    private func expect(_ record: ConsumedRecord) -> Bool {
        decoders[record.topic]?.expect(Self.source(record, record.topicPartition)) ?? true
    }

    /// Tells whether at least another chunk waits on the broker, as far as the client knows.
    private func hasBacklog(after batch: RecordBatch, _ source: any RecordSource) -> Bool {
        guard let last = batch.last else { return false }
        if isFull(batch) { return true }
        guard let high = try? source.watermarks(last.topicPartition)?.high else { return false }
        return high - last.offset > Int64(configuration.chunk.maxOperations)
    }

    package static func source(_ record: ConsumedRecord, _ partition: TopicPartition) -> SourceRecord {
        var source = SourceRecord(
            place: RecordPlace(topic: partition.topic, partition: partition.partition, offset: record.offset),
            key: record.key, value: record.value)
        source.timestampMilliseconds = record.timestampMilliseconds
        source.headers = record.headers
        return source
    }

    private func add(_ input: SourceRecord, _ partition: TopicPartition, hasBacklog: Bool) throws {
        let decoder = decoders[partition.topic]
        try pipeline.add(input, nextOffset: input.place.offset + 1, hasBacklog: hasBacklog) {
            record throws(DecodeError) in
            guard let decoder else {
                throw DecodeError(code: "decode.topic", "The topic is not configured. Add it to 'topics'")
            }
            return try decoder.decode(record)
        }
    }
}
