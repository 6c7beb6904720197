import GraphCore
import KafkaClient

/// Judges the members of the worker's consumer group.
struct GroupMembers {
    /// The members.
    let members: [ConsumerGroup.Member]
    /// The name that this worker gives its client.
    let clientID: String
    /// The topics that this worker reads.
    let topics: [String]
    /// Whether each worker keeps its part in a store of its own.
    let hasOwnStore: Bool
    /// The partitions that this store has read, where no worker of it runs.
    let stored: Set<TopicPartition>

    /// The name of a client whose configuration has none.
    static let defaultClientID = "rdkafka"

    /// The members that cannot be workers of this configuration.
    private var foreign: [ConsumerGroup.Member] {
        members.filter { member in
            member.clientID != clientID || member.partitions.contains { !topics.contains($0.topic) }
        }
    }

    /// Judges them.
    ///
    /// - Parameter facts: what else is known of the group.
    /// - Throws: ``ExaminationError`` where a member reads partitions of the store.
    func outcome(_ facts: String) throws(ExaminationError) -> Examination.Outcome {
        if members.isEmpty { return .ok("\(facts), and no members") }
        let list = "\(facts); \(counted(members.count, "member")): \(Self.text(members))"
        let taken = stored.intersection(members.flatMap(\.partitions)).sorted()
        if hasOwnStore, !taken.isEmpty {
            let partitions = taken.map(\.description).joined(separator: ", ")
            throw ExaminationError(
                code: .group, message: "\(list). No worker of this store runs, and others read its \(partitions)",
                remedy: "End the other program, or give it a group.id of its own. Or choose the partitions of each "
                    + "worker with kafka.partitions, or let them share a store in PostgreSQL")
        }
        if !foreign.isEmpty {
            return .warning(
                "\(list). Not of this configuration: \(Self.text(foreign))",
                remedy:
                    "End that program, or give it a group.id of its own: it takes partitions that this worker's store "
                    + "then lacks")
        }
        if hasOwnStore, members.count > 1 {
            return .warning(
                "\(list). Each store gets a part of the partitions, which moves with every rebalance",
                remedy:
                    "End all but one worker, or choose the partitions of each with kafka.partitions, or let them share a "
                    + "store in PostgreSQL")
        }
        return .ok(list)
    }

    private static func text(_ members: [ConsumerGroup.Member]) -> String {
        members.map { member in
            let name = member.instanceID.map { "\(member.clientID) \($0)" } ?? member.clientID
            let host = member.host.hasPrefix("/") ? String(member.host.dropFirst()) : member.host
            let partitions = member.partitions.map(\.description).joined(separator: ", ")
            return "\(name) at \(host) with \(partitions.isEmpty ? "no partitions" : partitions)"
        }.sorted().joined(separator: "; ")
    }
}
