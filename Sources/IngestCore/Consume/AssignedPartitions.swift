import GraphCore
import KafkaClient

/// Holds the states of all assigned partitions, and the topics and partitions that are wanted and not there.
struct AssignedPartitions: Sendable {
    /// Actions with their partitions; the number -1 stands for a whole topic.
    typealias Actions = [(partition: TopicPartition, action: PartitionAction)]

    /// The state of each assigned partition.
    private(set) var states: [TopicPartition: PartitionState] = [:]
    /// The reasons for which all partitions wait, those too that come later.
    private(set) var pauses: PauseReasons = []
    /// Wanted topics (with the number -1) and partitions that the broker does not have and nobody assigned.
    private(set) var absent: Set<TopicPartition> = []
    private var topics: TopicWatch
    private let policy: KafkaSettings.OnPositionLost
    private let brokerWaitSeconds: Double

    /// Makes a collection without partitions.
    ///
    /// - Parameters:
    ///   - topics: the names of the topics that are wanted; one that begins with `^` is a pattern.
    ///   - policy: an operator's decision about lost positions.
    ///   - brokerWaitSeconds: how long the broker may keep records back for more of them.
    init(topics: [String], policy: KafkaSettings.OnPositionLost = .halt, brokerWaitSeconds: Double = 0.5) {
        self.topics = TopicWatch(topics)
        self.policy = policy
        self.brokerWaitSeconds = brokerWaitSeconds
    }

    subscript(partition: TopicPartition) -> PartitionState? { states[partition] }

    // MARK: Assignment

    /// Adds a partition that is read from now on, and returns where to read it from.
    ///
    /// - Parameters:
    ///   - position: the store's; nil where it does not know the partition, or does not tell.
    ///   - actions: takes the reports that follow.
    mutating func assign(_ partition: TopicPartition, at position: SourcePosition?, actions: inout Actions) -> Int64 {
        actions += revoke(partition)
        let state = PartitionState(
            assignedAt: position, pauses: pauses, policy: policy, brokerWaitSeconds: brokerWaitSeconds)
        states[partition] = state
        return state.progress.start
    }

    /// Removes a partition that is not read any more.
    mutating func revoke(_ partition: TopicPartition) -> Actions {
        let farewell = states.removeValue(forKey: partition)?.farewell ?? []
        return farewell.map { (partition: partition, action: $0) } + takeAbsence(of: partition)
    }

    // MARK: Records

    /// Notes a record, and decides whether the worker applies it. Records of partitions that are not assigned are never
    /// applied.
    ///
    /// - Parameters:
    ///   - fingerprint: the record's; the state asks for it only to compare it.
    ///   - actions: takes the actions that follow; hardly ever are there any.
    mutating func receive(
        _ partition: TopicPartition, offset: Int64, fingerprint: @autoclosure () -> RecordFingerprint,
        actions: inout Actions
    ) -> RecordVerdict {
        var own: [PartitionAction] = []
        let verdict = states[partition]?.receive(offset: offset, fingerprint: fingerprint(), actions: &own) ?? .skip
        if !absent.isEmpty { actions += takeAbsence(of: partition) }
        if !own.isEmpty { actions += own.map { (partition: partition, action: $0) } }
        return verdict
    }

    // MARK: Events

    /// Passes an event to one partition; nothing happens where it is not assigned.
    mutating func handle(_ event: PartitionEvent, _ partition: TopicPartition) -> Actions {
        (states[partition]?.handle(event) ?? []).map { (partition: partition, action: $0) }
    }

    /// Passes an event to all partitions, or to the partitions that a condition names.
    mutating func handleAll(
        _ event: PartitionEvent, where isMeant: (TopicPartition) -> Bool = { _ in true }
    ) -> Actions {
        states.keys.filter(isMeant).sorted().flatMap { handle(event, $0) }
    }

    /// Lets all partitions wait, those too that come later.
    mutating func pause(for reason: PauseReasons) {
        pauses.formUnion(reason)
        // A pause has no report of its own: the outbox, the dead letters and the store have their own checks.
        _ = handleAll(.pauseBegan(reason))
    }

    /// Lets the partitions go on that wait for nothing else.
    mutating func goOn(without reason: PauseReasons) {
        pauses.subtract(reason)
        _ = handleAll(.pauseEnded(reason))
    }

    /// Notes that the client cannot read a topic (with the number -1) or a partition for now.
    mutating func lose(_ place: TopicPartition, _ fault: ReadFault) -> Actions {
        let known = states.keys.filter { place.partition < 0 ? $0.topic == place.topic : $0 == place }
        if known.isEmpty { return noteAbsence(of: place, fault) }
        return known.sorted().flatMap { handle(.missing(fault), $0) }
    }

    /// Notes that the broker does not have a wanted topic (with the number -1) or partition.
    mutating func noteAbsence(of place: TopicPartition, _ fault: ReadFault) -> Actions {
        if states[place] != nil { return handle(.missing(fault), place) }
        return absent.insert(place).inserted ? [(place, .report(.halted(fault)))] : []
    }

    /// Notes that the broker has all wanted topics and partitions except these.
    mutating func keepAbsent(_ places: Set<TopicPartition>) -> Actions {
        let found = absent.subtracting(places)
        absent.formIntersection(places)
        return found.sorted().map { (partition: $0, action: .report(.released)) }
    }

    /// Ends the absence of a partition, and of its topic unless the broker's list of topics lacks it.
    private mutating func takeAbsence(of partition: TopicPartition) -> Actions {
        var actions: Actions = []
        for place in [partition, TopicPartition(partition.topic, -1)] where absent.remove(place) != nil {
            if place.partition < 0, topics.isGone(place.topic) { continue }
            actions.append((place, .report(.released)))
        }
        return actions
    }

    // MARK: Topics

    /// The generation of the broker's topics that was taken last.
    var topicGeneration: Int { topics.generation }

    /// Notes the partitions of every topic that the broker has. A client whose topic is deleted may say nothing, and
    /// the group may take its partitions back.
    mutating func update(_ news: (topics: [String: Set<Int32>], generation: Int)) -> Actions {
        let changes = topics.update(news)
        var actions: Actions = []
        for topic in changes.gone {
            actions += handleAll(.connectionLost) { $0.topic == topic }
            actions.append((TopicPartition(topic, -1), .report(.halted(.unknownTopic))))
        }
        for topic in changes.back {
            actions.append((TopicPartition(topic, -1), .report(.released)))
            actions += keepAbsent(absent.filter { $0.topic != topic })
            actions += handleAll(.found) { $0.topic == topic }
        }
        return actions
    }

    // MARK: Computed from the states

    /// The partitions for which an action is to be carried out between polls, in their order.
    func due(_ action: PartitionAction) -> [TopicPartition] {
        states.compactMap { $0.value.due.contains(action) ? $0.key : nil }.sorted()
    }

    /// The offsets that are saved and not yet told to the broker.
    var offsetsToCommit: [TopicPartition: Int64] { states.compactMapValues(\.offsetToCommit) }

    /// The offsets that are saved, told to the broker or not.
    var storedOffsets: [TopicPartition: Int64] { states.compactMapValues(\.stored) }

    /// The ends behind the last records that are not saved.
    var endsToSave: [TopicPartition: Int64] { states.compactMapValues(\.endToSave) }

    /// The partitions that the broker has: their ends can be asked for.
    var present: Set<TopicPartition> { Set(states.filter { !$0.value.isMissing }.keys) }

    /// Whether a wanted topic or partition is not there, or a partition is halted.
    var lacksAny: Bool { !absent.isEmpty || states.values.contains { $0.isMissing || $0.isHalted } }

    // MARK: Silence

    /// Notes a poll and its signs of life.
    ///
    /// - Parameters:
    ///   - records: the partitions of its records.
    ///   - isFull: whether more may wait in the client's queue.
    mutating func hear(_ records: some Sequence<TopicPartition>, isFull: Bool) {
        // Hardly ever is a partition behind and silent; only then do the records matter here.
        guard states.values.contains(where: { $0.isSuspicious }) else { return }
        for partition in states.keys { states[partition]?.polled(isFull: isFull) }
        for partition in records { states[partition]?.hear() }
    }
}

extension ReadFault {
    /// The broker does not have a topic.
    static let unknownTopic = ReadFault(reason: ReadFailure.unknown.reason, remedy: ReadFailure.unknown.remedy)
    /// The topic has fewer partitions than the store has read.
    static let partitionGone = ReadFault(
        reason: "the store has read it, and the topic does not have it any more",
        remedy: "the topic was made again with fewer partitions: add partitions, or build the store again with "
            + "'run --rebuild'")
}
