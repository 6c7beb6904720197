import Testing

@testable import IngestCore
@testable import Operations

@Suite struct WorkerSamplesTests {
    @Test(.timeLimit(.minutes(60))) func `samples go on while dead letters are counted, and both end together`()
        async throws
    {
        let metrics = WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3")
        // A count without an end of its own.
        let sampler = ConsoleSampler(metrics) { try? await Task.sleep(for: .seconds(3600)) }
        let task = Task { try await sampler.run() }
        while sampler.recordsPerSecond == nil { try await Task.sleep(for: .milliseconds(5)) }
        task.cancel()
        try await task.value
    }

    private func samples(_ count: Int, recordsEach: Int = 10) -> WorkerSamples {
        var samples = WorkerSamples()
        for number in 1...count {
            samples.append(WorkerSamples.Sample(time: Int64(number) * 2_000_000, records: number * recordsEach))
        }
        return samples
    }

    @Test func `the rate is that of the last samples`() {
        #expect(samples(1).recordsPerSecond == nil)
        #expect(samples(3).recordsPerSecond == 5)
        var faster = samples(10)
        for number in 11...15 {
            faster.append(WorkerSamples.Sample(time: Int64(number) * 2_000_000, records: 100 + (number - 10) * 100))
        }
        #expect(faster.recordsPerSecond == 50)
    }

    @Test func `the oldest sample goes and the order stays`() {
        let kept = samples(WorkerSamples.capacity + 7).all
        #expect(kept.count == WorkerSamples.capacity)
        #expect(kept.first?.time == 16_000_000 as Int64)
        #expect(zip(kept, kept.dropFirst()).allSatisfy { $0.time < $1.time })
    }

    @Test func `points are rates between neighbours after the asked time`() {
        var samples = WorkerSamples()
        samples.append(WorkerSamples.Sample(time: 1_000_000, records: 5))
        samples.append(
            WorkerSamples.Sample(
                time: 3_000_000, records: 25, commits: 2, commitSeconds: 0.5, operations: 30, chunks: 3, lag: 7,
                lagSeconds: 1.5, memoryBytes: 100, storeBytes: 200, logBytes: 300))
        #expect(
            samples.json(after: 0)
                == #"{"intervalSeconds":2,"points":[[3000,10.0,1.0,0.25,10.0,7,100,200,300,1.5]]}"#)
        #expect(samples.json(after: 3_000_000) == #"{"intervalSeconds":2,"points":[]}"#)
    }

    @Test func `a clock that went back makes no point`() {
        var samples = WorkerSamples()
        samples.append(WorkerSamples.Sample(time: 3_000_000, records: 5))
        samples.append(WorkerSamples.Sample(time: 1_000_000, records: 9))
        #expect(samples.json(after: 0) == #"{"intervalSeconds":2,"points":[]}"#)
        #expect(samples.recordsPerSecond == nil)
    }
}
