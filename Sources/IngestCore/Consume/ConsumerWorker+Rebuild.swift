import GraphCore
import KafkaClient

extension ConsumerWorker {
    /// Looks whether everything there is was read, and then tries to take the old store.
    func consider(_ takeover: RebuildTakeover, _ source: any RecordSource) throws {
        if takeover.isTaken { return }
        if let step = try whatIsLeft(takeover, source) { return tell(step, takeover) }
        try pipeline.finish()
        switch try takeover.attempt(reached: partitions.states.mapValues(\.reached)) {
        case .taken: tell(ProgressMeter.Step("putting the store in its place"), takeover)
        case .waiting(let reason): tell(ProgressMeter.Step(reason), takeover)
        }
    }

    /// Returns the part that is not read yet, or nil where everything is read. It asks the broker itself for the ends.
    private func whatIsLeft(_ takeover: RebuildTakeover, _ source: any RecordSource) throws -> ProgressMeter.Step? {
        guard let plan = reading.plan, plan.generation > 0 else {
            return ProgressMeter.Step("waiting for the topics' partitions, which are not known yet")
        }
        if partitions.lacksAny {
            return ProgressMeter.Step("a topic or partition is missing or halted, see the check 'partitions'")
        }
        var behind: Int64 = 0
        var unknown = 0
        for (partition, state) in partitions.states {
            if let marks = try? source.watermarks(partition), marks.high >= 0 {
                behind += max(0, marks.high - state.reached)
            } else {
                unknown += 1
            }
        }
        if behind > 0 { return reading(behind: behind) }
        if unknown > 0 {
            return ProgressMeter.Step(
                "waiting for the broker, which has not said where \(counted(unknown, "partition")) ends")
        }
        for (partition, state) in partitions.states {
            do {
                let high = try source.queryWatermarks(partition, timeoutMilliseconds: 2000).high
                if high > state.reached { return reading(behind: high - state.reached) }
            } catch let error as KafkaError where !error.isFatal {
                return ProgressMeter.Step("waiting for the broker, which does not say where \(partition.topic) ends")
            }
        }
        return nil
    }

    private func reading(behind: Int64) -> ProgressMeter.Step {
        let count = pipeline.summary.records
        return ProgressMeter.Step(
            "reading", count: count, noun: "record", share: Double(count) / Double(Int64(count) + behind))
    }

    /// Tells the health how far the new store is. The log gets each step once, and now and then how fast it goes on.
    private func tell(_ step: ProgressMeter.Step, _ takeover: RebuildTakeover) {
        health.report(.working(step))
        takeover.meter.update(step, at: clock.seconds())
        if step.share != nil, let line = takeover.meter.line(at: clock.seconds()) {
            logger.info("rebuild", metadata: ["progress": "\(line)"])
        }
        // Numbers that only grow smaller are for health and metrics.
        let kind = step.name.filter { !$0.isNumber }
        if takeover.toldStep == kind { return }
        takeover.toldStep = kind
        logger.info("rebuild", metadata: ["state": "\(step.name)"])
    }
}
