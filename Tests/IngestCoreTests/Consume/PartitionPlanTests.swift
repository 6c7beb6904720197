import KafkaClient
import Testing

@testable import IngestCore

@Suite struct PartitionPlanTests {
    private func plan(_ selection: String, _ topics: [String] = ["a"]) throws -> PartitionPlan {
        PartitionPlan(selection: try #require(PartitionSelection(selection)), topics: topics)
    }

    @Test func `a share takes its partitions of each topic once`() throws {
        var plan = try plan("1/4", ["a", "b"])
        let topics: [String: Set<Int32>] = ["a": Set(0..<6), "b": Set(0..<3), "other": Set(0..<9)]
        #expect(
            plan.update(topics).new == [TopicPartition("a", 1), TopicPartition("a", 5), TopicPartition("b", 1)])
        #expect(plan.update(topics) == PartitionPlan.Changes())
    }

    @Test func `a broadcast topic is taken whole`() throws {
        var plan = PartitionPlan(
            selection: try #require(PartitionSelection("1")), topics: ["a", "b"], broadcast: ["b"])
        let changes = plan.update(["a": Set(0..<2), "b": Set(0..<2)])
        #expect(changes.new == [TopicPartition("a", 1), TopicPartition("b", 0), TopicPartition("b", 1)])
        // Where the broadcast topic has fewer partitions, none of it is missing.
        #expect(plan.update(["a": Set(0..<2), "b": [0]]).missing.isEmpty)
    }

    @Test func `topics with different numbers of partitions are a fault once both are there`() {
        let counts = PartitionCounts(of: ["a", "b"])
        #expect(counts.fault([:]) == nil && counts.fault(["a": [0, 1]]) == nil)
        #expect(counts.fault(["a": [0, 1], "b": [0, 1], "c": [0]]) == nil)
        #expect(counts.fault(["a": [0, 1], "b": [0]])?.message.contains("b has 1 partition and a has 2") == true)
    }

    @Test func `a share takes partitions that are added`() throws {
        var plan = try plan("1/4")
        _ = plan.update(["a": Set(0..<4)])
        #expect(plan.update(["a": Set(0..<10)]).new == [TopicPartition("a", 5), TopicPartition("a", 9)])
    }

    @Test func `a share without partitions is idle and misses nothing`() throws {
        var plan = try plan("3/4")
        let changes = plan.update(["a": [0, 1]])
        #expect(changes.idle == ["a"] && changes.missing.isEmpty && changes.new.isEmpty)
    }

    @Test func `partitions of a list that are not there are missed until they are`() throws {
        var plan = try plan("0-1,7")
        let few = plan.update(["a": [0, 1, 2]])
        #expect(few.new == [TopicPartition("a", 0), TopicPartition("a", 1)])
        #expect(few.missing == [TopicPartition("a", 7): "the topic has no partition 7, only 3"])
        let more = plan.update(["a": Set(0..<8)])
        #expect(more == PartitionPlan.Changes(new: [TopicPartition("a", 7)]))
    }

    @Test func `a topic that is not there is missed as a whole`() throws {
        var plan = try plan("0/2")
        #expect(Array(plan.update([:]).missing.keys) == [TopicPartition("a", -1)])
        #expect(plan.update(["a": [0]]) == PartitionPlan.Changes(new: [TopicPartition("a", 0)]))
        // It vanishes: what is read stays assigned, and nothing is assigned twice when it comes back.
        #expect(Array(plan.update([:]).missing.keys) == [TopicPartition("a", -1)])
        #expect(plan.update(["a": [0]]) == PartitionPlan.Changes())
    }
}
