import KafkaClient

/// The coordinator of a consumer group: who is a member, and who has which partition.
///
/// A rebalance goes as Kafka's: members learn of it in their next poll. With the eager protocol a member gives everything
/// up and joins again; with the cooperative one it gives up only the partitions that another member is to have.
struct SimulatedGroup {
    struct Member {
        var owned: [TopicPartition] = []
        var hasJoined = false
        /// The partitions that the coordinator has given to the member, once all have joined.
        var assigned: [TopicPartition]?
        var heardAtSeconds: Double
    }

    /// What a member has to do in its poll.
    enum Task {
        case revoke([TopicPartition])
        case take([TopicPartition])
        case lose
    }

    static let sessionSeconds = 10.0

    let isCooperative: Bool
    let partitions: [TopicPartition]
    private(set) var members: [Int: Member] = [:]
    private var isRebalancing = false

    init(partitions: [TopicPartition], isCooperative: Bool) {
        self.partitions = partitions
        self.isCooperative = isCooperative
    }

    mutating func join(_ id: Int, at seconds: Double) {
        members[id] = Member(heardAtSeconds: seconds)
        rebalance()
    }

    mutating func leave(_ id: Int) {
        if members.removeValue(forKey: id) != nil { rebalance() }
    }

    /// Notes that a member's process lives.
    mutating func hear(_ id: Int, at seconds: Double) { members[id]?.heardAtSeconds = seconds }

    /// Gives the places of silent members away.
    mutating func expire(at seconds: Double) {
        let silent = members.keys.filter { seconds - (members[$0]?.heardAtSeconds ?? 0) > Self.sessionSeconds }
        for id in silent.sorted() { leave(id) }
    }

    private mutating func rebalance() {
        isRebalancing = true
        for id in members.keys { members[id]?.hasJoined = false }
    }

    /// What the member has to do next, where anything.
    ///
    /// - Parameter owned: the partitions that the member itself believes to have.
    mutating func nextTask(of id: Int, owned: [TopicPartition], at seconds: Double) -> Task? {
        guard let member = members[id] else {
            join(id, at: seconds)
            return owned.isEmpty ? nil : .lose
        }
        if isRebalancing, !member.hasJoined {
            if !isCooperative, !member.owned.isEmpty {
                members[id]?.owned = []
                return .revoke(member.owned)
            }
            members[id]?.hasJoined = true
            members[id]?.assigned = nil
            assignIfComplete()
        }
        guard let assigned = members[id]?.assigned else { return nil }
        let gone = member.owned.filter { !assigned.contains($0) }
        if !gone.isEmpty {
            members[id]?.owned.removeAll { gone.contains($0) }
            members[id]?.assigned = nil
            // Now the partitions are free, and the members join once more.
            rebalance()
            return .revoke(gone)
        }
        members[id]?.assigned = nil
        let new = assigned.filter { !member.owned.contains($0) }
        members[id]?.owned = assigned
        return .take(new)
    }

    private mutating func assignIfComplete() {
        guard members.values.allSatisfy(\.hasJoined) else { return }
        isRebalancing = false
        let ids = members.keys.sorted()
        let owners = Dictionary(
            members.flatMap { id, member in member.owned.map { ($0, id) } }, uniquingKeysWith: { first, _ in first })
        for id in ids { members[id]?.assigned = [] }
        for (index, partition) in partitions.enumerated() {
            let target = ids[index % ids.count]
            // Another member gives it up first.
            if let owner = owners[partition], owner != target { continue }
            members[target]?.assigned?.append(partition)
        }
    }

    /// Whether every partition has the owner that it is to have.
    var isSettled: Bool {
        !isRebalancing && members.values.allSatisfy { $0.assigned == nil }
            && Set(members.values.flatMap(\.owned)) == Set(partitions)
    }

    /// Checks that a member may commit offsets.
    ///
    /// - Throws: `KafkaError` where it is no member, or does not have a partition.
    func checkCommit(_ offsets: [TopicPartition: Int64], of id: Int) throws {
        guard let member = members[id] else { throw KafkaError(.unknownMember) }
        // Partition n of another topic goes with partition n of the group's.
        let owned = Set(member.owned.map(\.partition))
        if !offsets.keys.allSatisfy({ owned.contains($0.partition) }) { throw KafkaError(.illegalGeneration) }
    }
}
