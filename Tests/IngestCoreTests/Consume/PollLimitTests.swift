import Testing

@testable import IngestCore

@Suite struct PollLimitTests {
    @Test(arguments: [(1_000, 500, 30), (5_000, 500, 6), (10, 500, 500), (10, 5_000, 3_000), (5_000, 3, 3)])
    func `a poll takes as many records as programs read in half a minute`(
        programMilliseconds: Int, chunk: Int, expected: Int
    ) {
        var configuration = WorkerConfiguration()
        (configuration.limits.maxProgramMilliseconds, configuration.chunk.maxOperations) = (programMilliseconds, chunk)
        #expect(ConsumerWorker.maximumPollRecords(configuration, runsPrograms: true) == expected)
        #expect(ConsumerWorker.maximumPollRecords(configuration, runsPrograms: false) == chunk)
    }
}
