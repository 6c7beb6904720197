import KafkaClient
import ObjectGraph

@testable import IngestCore

/// Random rebalances, failures, pauses and restores, and the quiet after them.
extension PartitionSimulation {
    /// Runs a storm, lets it end, and judges the result.
    ///
    /// - Throws: ``Violation``.
    func run(turns: Int) throws {
        for _ in 0..<turns {
            try strike()
            try turn(seconds: Double(1 + random.number(below: 10)) / 20)
        }
        heal()
        // Each fetch that had to be repeated has doubled the wait for the next.
        for _ in 0..<120 { try turn(seconds: 0.5) }
        // A partition that an operator's decision led behind its last record is known to be there by the next.
        for place in Self.places { append(1, to: place, withMarkers: false) }
        for _ in 0..<60 { try turn(seconds: 0.5) }
        try judgeTheQuiet()
    }

    private func strike() throws {
        let place = Self.places[random.number(below: Self.places.count)]
        switch random.number(below: 60) {
        case 0..<14: append(1 + random.number(below: 4), to: place)
        case 14..<20: assign([place])
        case 20: try revoke(assigned([place]))
        case 21: try revoke(assigned(Self.places))
        case 22: lose(assigned([place]))
        case 23: lose(assigned(Self.places))
        case 24, 25: client.hasLostConnection = true
        case 26: replaceLog(of: place)
        case 27: ageLog(of: place)
        case 28: damageLog(of: place)
        case 29: forget(place)
        case 30, 31: faults.isStoreRefusing.toggle()
        case 32, 33: faults.isOutboxFull.toggle()
        case 34, 35: faults.areDeadLettersFull.toggle()
        case 36, 37: faults.isBrokerSilent.toggle()
        case 38: faults.refusedSeeks = 1 + random.number(below: 3)
        case 39, 40: toggleTopic()
        case 41: faults.forbidden.formSymmetricDifference([place])
        case 42: start()
        case 43: startWithoutHalted()
        default: break
        }
    }

    private func assigned(_ places: [TopicPartition]) -> [TopicPartition] {
        places.filter { client.position[$0] != nil }
    }

    /// The topic is made anew, or a broker comes back with other data; connections are lost with it.
    private func replaceLog(of place: TopicPartition) {
        logs[place] = newLog()
        append(random.number(below: 60), to: place)
        client.hasLostConnection = true
        client.stopped.remove(place)
    }

    /// The client forgets to fetch a partition until the next seek or connection.
    private func forget(_ place: TopicPartition) {
        guard let log = logs[place], let position = client.position[place], !isOfAnotherLog(place) else { return }
        if position <= log.end { client.stopped.insert(place) }
    }

    /// Retention takes the oldest records of a log that the store has read of.
    private func ageLog(of place: TopicPartition) {
        guard let log = logs[place], !isOfAnotherLog(place), log.low < log.end else { return }
        logs[place]?.low += Int64(1 + random.number(below: Int(log.end - log.low)))
    }

    private func damageLog(of place: TopicPartition) {
        guard let log = logs[place], let last = log.entries.indices.last, last >= log.low else { return }
        if case .record(let payload) = log.entries[last], stored[place]?.next ?? 0 <= last, open[place] == nil {
            logs[place]?.entries[last] = .damaged(payload)
        }
    }

    private func toggleTopic() {
        faults.isTopicGone.toggle()
        tell(partitions.update(nextTopics()))
    }

    /// An operator mends the logs, and gives halted partitions a new store.
    private func startWithoutHalted() {
        for (place, state) in partitions.states where state.isHalted {
            stored[place] = nil
            mendLog(of: place)
        }
        start()
    }

    private func mendLog(of place: TopicPartition) {
        guard let log = logs[place] else { return }
        for (index, entry) in log.entries.enumerated() {
            if case .damaged(let payload) = entry { logs[place]?.entries[index] = .record(payload) }
        }
    }

    // MARK: The quiet

    private func heal() {
        faults = Faults()
        tell(partitions.update(nextTopics()))
        assign(Self.places)
        // A partition that could not be read is known to be there by a record of it.
        for place in Self.places { append(1, to: place, withMarkers: false) }
    }

    /// Everything was applied, or health says why not.
    private func judgeTheQuiet() throws {
        let reason = health.readiness(at: time).first { $0.name == "partitions" }?.reason ?? ""
        var isAnyTold = false
        for place in Self.places {
            let isTold = reason.contains("t/\(place.partition) halted")
            isAnyTold = isAnyTold || isTold
            let isFaulty = isLostOrDamaged(place) || isOfAnotherLog(place)
            if isBehind(place), !isTold {
                throw Violation(invariant: "I6", description: "\(place) stands still in silence: \(text(of: place))")
            }
            if isTold, !isBehind(place), !isFaulty {
                throw Violation(
                    invariant: "I6", description: "\(place) is told halted, and nothing is wrong: \(text(of: place))")
            }
        }
        if !isAnyTold, !isReady {
            let failing = health.readiness(at: time).filter { !$0.isOK }.map(\.name)
            throw Violation(invariant: "I6", description: "everything was read, and \(failing) fail")
        }
    }

    /// Whether retention has passed the position, or the client has met damage.
    private func isLostOrDamaged(_ place: TopicPartition) -> Bool {
        guard let log = logs[place] else { return false }
        if let next = stored[place]?.next, log.low > next { return true }
        return client.damaged.contains(place)
    }
}
