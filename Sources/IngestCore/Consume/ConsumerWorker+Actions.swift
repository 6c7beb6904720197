import GraphCore
import KafkaClient

/// Carries out the actions that the states of partitions ask for.
extension ConsumerWorker {
    /// Carries out what an event asks for at once; the reports come first.
    ///
    /// - Throws: `StoreError`, `KafkaError`.
    func carryOut(_ actions: AssignedPartitions.Actions, _ source: any RecordSource) throws {
        tell(actions)
        for (partition, action) in actions {
            switch action {
            case .seek(let offset): try seek(partition, to: offset, source)
            case .jump(let jump, let reason): try go(partition, jump, reason, source)
            case .refetch(let behind): try refetch(partition, behind: behind, source)
            case .report, .pause, .resume, .compareLastRecord, .askRange: break
            }
        }
    }

    /// Carries out the actions that the states still ask for, between polls, when no record is at hand.
    ///
    /// - Throws: `StoreError`, `KafkaError`.
    func carryOutDue(_ source: any RecordSource) throws {
        try change(partitions.due(.pause), isPaused: true, source)
        try change(partitions.due(.resume), isPaused: false, source)
        try compareLastRecords(of: partitions.due(.compareLastRecord), source)
        try askRanges(of: partitions.due(.askRange), source)
    }

    /// Pauses or resumes partitions in the client. The group may have given some that the client does not have yet.
    private func change(_ due: [TopicPartition], isPaused: Bool, _ source: any RecordSource) throws {
        if due.isEmpty { return }
        let assigned = Set(try source.assignment)
        let known = due.filter { assigned.contains($0) }
        if known.isEmpty { return }
        if isPaused { try source.pause(known) } else { try source.resume(known) }
        for partition in known { tell(partitions.handle(.clientChanged(isPaused: isPaused), partition)) }
    }

    /// Goes back to the last record that the store took of each partition. Another log may stand there by now, with
    /// more records than the store has read.
    ///
    /// - Throws: `StoreError`; `KafkaError` where the client may never go there.
    func compareLastRecords(of due: [TopicPartition], _ source: any RecordSource) throws {
        if due.isEmpty { return }
        // The worker saves the open chunk first, so that going back repeats nothing.
        try pipeline.finish()
        let positions = try reading.storedPositions()
        noteUnassigned()
        for partition in due {
            let position = positions[partition]
            reading.lags[partition]?.take(position)
            pipeline.begin(topic: partition.topic, partition: partition.partition, at: position?.nextOffset)
            try carryOut(partitions.handle(.positionRead(position), partition), source)
            // A client that cannot seek now is asked again in the next turn.
            if partitions[partition]?.comparison == .now { return }
        }
    }

    /// Asks the broker what it has of partitions whose offset it does not have; the answers decide. While the broker does
    /// not answer they wait: nothing of them is fetched anyway.
    func askRanges(of due: [TopicPartition], _ source: any RecordSource) throws {
        for partition in due {
            let marks: Watermarks
            do {
                marks = try source.queryWatermarks(partition, timeoutMilliseconds: 2000)
            } catch let error as KafkaError where !error.isFatal {
                outages.repeated(.warning, "the broker does not say what it has", ["reason": "\(error)"])
                return
            }
            try carryOut(partitions.handle(.rangeKnown(marks), partition), source)
        }
    }

    private func seek(_ partition: TopicPartition, to offset: Int64, _ source: any RecordSource) throws {
        do {
            try source.seek(partition, to: offset, timeoutMilliseconds: 10_000)
            tell(partitions.handle(.seekDone, partition))
        } catch let error as KafkaError where error.isRetriable {
            outages.repeated(
                .warning, "going elsewhere does not succeed yet, trying again", ["reason": "\(error)"])
            tell(partitions.handle(.seekRefused(isRetriable: true), partition))
        }
    }

    /// Goes on elsewhere, as an operator has decided.
    private func go(
        _ partition: TopicPartition, _ jump: PositionJump, _ reason: String, _ source: any RecordSource
    ) throws {
        logger.critical(
            "\(jump.description)",
            metadata: [
                "topic": "\(partition.topic)", "partition": .stringConvertible(partition.partition),
                "reason": "\(reason)", "from": .stringConvertible(jump.from), "to": .stringConvertible(jump.to),
            ])
        // The decision is saved with what is open: going back, another member or a restart must not make it again.
        try pipeline.move(
            to: [SourcePosition(topic: partition.topic, partition: partition.partition, nextOffset: jump.to)])
        try seek(partition, to: jump.to, source)
    }

    private func refetch(_ partition: TopicPartition, behind: Int64, _ source: any RecordSource) throws {
        logger.warning(
            "a partition is stalled, and is fetched again",
            metadata: [
                "topic": "\(partition.topic)", "partition": .stringConvertible(partition.partition),
                "behind": .stringConvertible(behind),
                "next": .stringConvertible(partitions[partition]?.progress.next ?? -1),
            ])
        metrics.refetches.increment()
        do {
            try compareLastRecords(of: [partition], source)
        } catch let error as KafkaError where !error.isFatal {
            // It may be on its way to another member. Where it stays, its next record is compared with the store's.
            tell(partitions.handle(.seekRefused(isRetriable: false), partition))
            outages.repeated(.warning, "fetching again failed", ["reason": "\(error)"])
        }
    }
}
