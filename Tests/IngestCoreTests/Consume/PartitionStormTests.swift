import Foundation
import TestSupport
import Testing

@testable import IngestCore

/// Random storms of rebalances, failures, pauses and restores over the machine, judged by I1 and I6.
///
/// Each test prints its seed; `INGEST_TEST_SEED=n` runs that one again, and `INGEST_TEST_RUNS` makes the runs more.
@Suite struct PartitionStormTests {
    private static let runs =
        ProcessInfo.processInfo.environment["INGEST_TEST_RUNS"].flatMap { Int($0) } ?? 60

    @Test(arguments: KafkaSettings.OnPositionLost.allCases)
    func `after random events each record is applied once and in order, and unread partitions are reported`(
        _ policy: KafkaSettings.OnPositionLost
    ) throws {
        var random = SeededRandom.forTest("PartitionStormTests, \(policy)")
        var applied = 0
        for run in 0..<Self.runs {
            let simulation = PartitionSimulation(seed: random.next(), policy: policy)
            do {
                try simulation.run(turns: 150)
            } catch let violation as PartitionSimulation.Violation {
                Issue.record("run \(run), \(simulation.time) s: \(violation.invariant): \(violation)")
                return
            }
            applied += simulation.appliedCount
        }
        #expect(applied > Self.runs * 20, "the storms let hardly anything be applied")
    }

    /// The planted bugs show that the storms find each kind.
    @Test(arguments: PartitionSimulation.Defect.allCases)
    func `a planted bug is found`(_ defect: PartitionSimulation.Defect) throws {
        var random = SeededRandom.forTest("PartitionStormTests, \(defect)")
        // The first storm that finds it ends the test; hardly any needs more than a hundred.
        for _ in 0..<(Self.runs * 20) {
            let simulation = PartitionSimulation(seed: random.next(), policy: .halt, defect: defect)
            do {
                try simulation.run(turns: 150)
            } catch let violation as PartitionSimulation.Violation {
                #expect(defect.invariants.contains(violation.invariant), "\(violation)")
                return
            }
        }
        Issue.record("no storm found \(defect)")
    }
}
