import KafkaClient
import Testing

@testable import IngestCore
@testable import Operations

@Suite struct GroupMembersTests {
    private func member(_ client: String = "rdkafka", _ host: String = "/10.0.0.1", _ partitions: [Int32] = [0])
        -> ConsumerGroup.Member
    {
        ConsumerGroup.Member(
            clientID: client, host: host, partitions: partitions.map { TopicPartition("events", $0) })
    }

    private func finding(
        _ members: [ConsumerGroup.Member], topics: [String] = ["events"], hasOwnStore: Bool = true,
        stored: Set<TopicPartition> = []
    ) -> Finding {
        let group = GroupMembers(
            members: members, clientID: GroupMembers.defaultClientID, topics: topics, hasOwnStore: hasOwnStore,
            stored: stored)
        return Examination("group") { try group.outcome("g") }.run()
    }

    @Test func `members are listed with their hosts and partitions`() {
        #expect(finding([]).message == "g, and no members")
        let found = finding([member("rdkafka", "/10.0.0.1", [0, 1])])
        #expect(found.state == .ok)
        #expect(found.message == "g; 1 member: rdkafka at 10.0.0.1 with events/0, events/1")
        #expect(finding([member("rdkafka", "/h", [])]).message == "g; 1 member: rdkafka at h with no partitions")
    }

    @Test func `a member of another client, or with other topics, is none of this configuration`() {
        let other = finding([member(), member("billing", "/10.0.0.2", [1])])
        #expect(
            other.state == .warning
                && other.message.hasSuffix("Not of this configuration: billing at 10.0.0.2 with events/1"))
        #expect(other.remedy?.contains("group.id") == true)
        #expect(finding([member()], topics: ["orders"]).state == .warning)
    }

    @Test func `a member that reads partitions of a store without a worker is a failure`() {
        let stored: Set = [TopicPartition("events", 0), TopicPartition("events", 7)]
        let found = finding([member()], stored: stored)
        #expect(found.state == .failed && (found.error as? ExaminationError)?.code == .group)
        #expect(found.message.hasSuffix("No worker of this store runs, and others read its events/0"))
        #expect(finding([member()], hasOwnStore: false, stored: stored).state == .ok)
        #expect(finding([member("rdkafka", "/h", [1])], stored: stored).state == .ok)
    }

    @Test func `two workers of a group are at fault unless they share a store`() {
        let two = [member("rdkafka", "/a", [0]), member("rdkafka", "/b", [1])]
        let found = finding(two)
        #expect(found.state == .warning && found.message.contains("2 members"))
        #expect(found.remedy?.contains("kafka.partitions") == true)
        #expect(finding(two, hasOwnStore: false).state == .ok)
    }
}
