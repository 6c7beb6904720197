import KafkaClient
import ObjectGraph

@testable import IngestCore

/// The loop of the worker, call by call as in `ConsumerWorker`.
extension PartitionSimulation {
    /// One round of the loop.
    ///
    /// - Throws: ``Violation``.
    func turn(seconds: Double) throws {
        time += seconds
        health.apply(.heartbeat, at: time)
        do {
            try work()
        } catch is Refusal {
            refuse()
        }
        try checkTruth()
    }

    private func work() throws {
        try discardIfRefused()
        limit(.outbox, faults.isOutboxFull, full: .outboxFull(reason: "full"), drained: .outboxHasRoom)
        limit(
            .deadLetters, faults.areDeadLettersFull, full: .publisherFailing(reason: "full"), drained: .publisherOK)
        try carryOutDue()
        let batch = poll()
        // The group may take a partition of which records are at hand.
        if faults.areRebalancesInPolls, random.number(below: 20) == 0 {
            try revoke(batch.first.map { [$0.place] } ?? [])
        }
        partitions.hear(batch.map { $0.place }, isFull: false)
        if partitions.pauses.contains(.store) { try discardIfRefused() } else { try process(batch) }
        if random.number(below: 3) == 0 { try save() }
        if random.number(below: 3) == 0 { try saveEnds() }
        if random.number(below: 3) == 0 { try commitOffsets() }
        for place in partitions.states.keys.sorted() {
            try carryOut(partitions.handle(.clock(time, end: logs[place]?.end), place))
        }
        health.apply(.storeOK, at: time)
    }

    private func limit(_ reason: PauseReasons, _ isFull: Bool, full: HealthEvent, drained: HealthEvent) {
        if isFull == partitions.pauses.contains(reason) { return }
        health.apply(isFull ? full : drained, at: time)
        if isFull { partitions.pause(for: reason) } else { partitions.goOn(without: reason) }
    }

    // MARK: Records

    private func poll() -> [(place: TopicPartition, offset: Int64, payload: Int)] {
        if client.hasLostConnection, defect != .ignoresLostConnections { tell(partitions.handleAll(.connectionLost)) }
        client.hasLostConnection = false
        var batch: [(place: TopicPartition, offset: Int64, payload: Int)] = []
        for place in client.position.keys.sorted()
        where !client.paused.contains(place) && !client.stopped.contains(place) {
            batch += fetch(place)
        }
        return batch
    }

    private func fetch(_ place: TopicPartition) -> [(place: TopicPartition, offset: Int64, payload: Int)] {
        guard let log = logs[place], var at = client.position[place] else { return [] }
        if faults.isTopicGone || faults.forbidden.contains(place) {
            tell(partitions.lose(place, PartitionFixture.fault))
            return []
        }
        if at == PartitionProgress.beginning { at = log.low }
        if at < log.low || at > log.end {
            client.stopped.insert(place)
            tell(partitions.handle(.offsetOutOfRange, place))
            return []
        }
        var batch: [(place: TopicPartition, offset: Int64, payload: Int)] = []
        for _ in 0..<(1 + random.number(below: 6)) where at < log.end {
            switch log.entries[Int(at)] {
            case .record(let payload): batch.append((place, at, payload))
            case .marker: break
            // The client goes on behind the damage.
            case .damaged:
                client.damaged.insert(place)
                tell(partitions.handle(.damaged(at: at, PartitionFixture.fault), place))
            }
            at += 1
        }
        client.position[place] = at
        if at == log.end { tell(partitions.handle(.endReached(at), place)) }
        return batch
    }

    private func process(_ batch: [(place: TopicPartition, offset: Int64, payload: Int)]) throws {
        for (place, offset, payload) in batch {
            var actions: AssignedPartitions.Actions = []
            let verdict = partitions.receive(
                place, offset: offset, fingerprint: PartitionFixture.fingerprint(payload), actions: &actions)
            tell(actions)
            if verdict == .apply { try apply(payload, at: offset, place) }
        }
    }

    // MARK: The store

    private func refuse() {
        open = [:]
        health.apply(.storeFailed(reason: "busy"), at: time)
        partitions.pause(for: .store)
    }

    private func discardIfRefused() throws {
        guard partitions.pauses.contains(.store) else { return }
        if faults.isStoreRefusing { throw Refusal() }
        open = [:]
        partitions.goOn(without: .store)
        if defect == .staysAfterRefusal {
            for place in partitions.states.keys { tell(partitions.handle(.seekDone, place)) }
        }
    }

    func save() throws {
        if open.isEmpty { return }
        if faults.isStoreRefusing {
            open = [:]
            throw Refusal()
        }
        let saved = open
        stored.merge(saved) { $1 }
        open = [:]
        for (place, reached) in saved { tell(partitions.handle(.saved(reached.next), place)) }
    }

    private func storedPosition(_ place: TopicPartition) throws -> SourcePosition? {
        if faults.isStoreRefusing { throw Refusal() }
        return stored[place].map {
            PartitionFixture.position($0.next, last: $0.last?.payload, at: $0.last?.offset, in: place)
        }
    }

    private func saveEnds() throws {
        let ends = partitions.endsToSave
        if ends.isEmpty { return }
        try save()
        for (place, end) in ends { try pass(to: end, place) }
        try save()
    }

    private func saveOrDrop() {
        do {
            try save()
        } catch {
            refuse()
        }
    }

    // MARK: Rebalances

    func assign(_ places: [TopicPartition]) {
        saveOrDrop()
        var actions: AssignedPartitions.Actions = []
        for place in places where client.position[place] == nil {
            var position: SourcePosition?
            do {
                position = try storedPosition(place)
            } catch {
                refuse()
            }
            client.position[place] = partitions.assign(place, at: position, actions: &actions)
        }
        tell(actions)
    }

    func revoke(_ places: [TopicPartition]) throws {
        saveOrDrop()
        try commitOffsets()
        release(places)
    }

    func lose(_ places: [TopicPartition]) {
        partitions.pause(for: .store)
        do {
            try discardIfRefused()
        } catch {
            refuse()
        }
        release(places)
    }

    private func release(_ places: [TopicPartition]) {
        for place in places {
            if defect != .appliesAfterRevocation { tell(partitions.revoke(place)) }
            client.position[place] = nil
            client.paused.remove(place)
            client.stopped.remove(place)
            client.damaged.remove(place)
        }
    }

    // MARK: Actions

    func tell(_ actions: AssignedPartitions.Actions) {
        for case (let place, .report(let report)) in actions {
            if defect == .forgetsReports, report != .released { continue }
            for event in report.events(of: place) { health.apply(event, at: time) }
        }
    }

    private func carryOut(_ actions: AssignedPartitions.Actions) throws {
        tell(actions)
        for (place, action) in actions {
            switch action {
            case .seek(let offset): seek(place, to: offset)
            case .jump(let jump, _):
                open[place] = Reached(next: jump.to)
                try save()
                seek(place, to: jump.to)
            case .refetch: try compareLastRecords(of: [place])
            default: break
            }
        }
    }

    private func carryOutDue() throws {
        for place in partitions.due(.pause) {
            client.paused.insert(place)
            tell(partitions.handle(.clientChanged(isPaused: true), place))
        }
        for place in partitions.due(.resume) {
            client.paused.remove(place)
            tell(partitions.handle(.clientChanged(isPaused: false), place))
        }
        try compareLastRecords(of: partitions.due(.compareLastRecord))
        for place in partitions.due(.askRange) where !faults.isBrokerSilent {
            guard let log = logs[place] else { continue }
            try carryOut(partitions.handle(.rangeKnown(Watermarks(low: log.low, high: log.end)), place))
        }
    }

    private func compareLastRecords(of places: [TopicPartition]) throws {
        if places.isEmpty { return }
        try save()
        for place in places {
            try carryOut(partitions.handle(.positionRead(storedPosition(place)), place))
            if partitions[place]?.comparison == .now { return }
        }
    }

    private func seek(_ place: TopicPartition, to offset: Int64) {
        if faults.refusedSeeks > 0 || client.position[place] == nil {
            faults.refusedSeeks = max(0, faults.refusedSeeks - 1)
            return tell(partitions.handle(.seekRefused(isRetriable: true), place))
        }
        client.position[place] = offset
        client.stopped.remove(place)
        tell(partitions.handle(.seekDone, place))
    }

    private func commitOffsets() throws {
        var offsets = partitions.offsetsToCommit
        if defect == .commitsAppliedOffsets { offsets = partitions.states.compactMapValues(\.progress.next) }
        for (place, offset) in offsets {
            try commitToBroker(offset, place)
            tell(partitions.handle(.offsetCommitted(offset), place))
        }
    }
}
