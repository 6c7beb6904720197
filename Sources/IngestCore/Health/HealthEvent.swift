import KafkaClient

/// Is something that bears on the worker's health.
package enum HealthEvent: Sendable, Equatable {
    /// The worker began a step of its start, as in `opening the store`.
    case starting(step: String)
    /// The start is over; the loop runs from here on.
    case started
    /// The consuming loop went round.
    case heartbeat
    /// The store answered.
    case storeOK
    /// The store failed.
    case storeFailed(reason: String)
    /// A verification has found damage in the store; nil where it found none.
    case storeVerified(problems: String?)
    /// A partition's records are decoded again, or it is no longer assigned.
    case decodingOK(TopicPartition)
    /// A partition's records cannot be decoded for now, whatever they are.
    case decodingFailed(TopicPartition, reason: String)
    /// The worker is a member of its consumer group, or has taken the partitions that the configuration names.
    case groupJoined
    /// The worker is no member any more.
    case groupLost(reason: String)
    /// The group takes the partitions back, and has not said what comes next.
    case groupWaiting(reason: String)
    /// Another member of the group reads partitions that the store has read; nil where none does.
    case partitionsElsewhere(reason: String?)
    /// A broker answers.
    case brokerReachable
    /// No broker answers.
    case brokerUnreachable(reason: String)
    /// The publisher delivered, or had nothing to deliver.
    case publisherOK
    /// The publisher waits for a delivery.
    case publisherDelivering
    /// The publisher cannot deliver.
    case publisherFailing(reason: String)
    /// So much waits to be notified that nothing is consumed.
    case outboxFull(reason: String)
    /// Less waits to be notified than the limit.
    case outboxHasRoom
    /// Dead letters were delivered to their topic, or there were none.
    case deadLettersOK
    /// A delivery of dead letters is waited for.
    case deadLettersDelivering
    /// Dead letters cannot be delivered.
    case deadLettersFailing(reason: String)
    /// So many dead letters wait for their topic that nothing is consumed.
    case deadLettersFull(reason: String)
    /// Fewer dead letters wait for their topic than the limit.
    case deadLettersHaveRoom
    /// A topic that the worker writes lost records; they are sent again.
    case outputLost(topic: String, reason: String)
    /// The lost records of a topic were sent again.
    case outputSentAgain(topic: String)
    /// A bad record, or a permanent error, ends the worker.
    case halted(reason: String)
    /// A partition is no longer consumed, though it is assigned; number -1 stands for the whole topic.
    case partitionHalted(TopicPartition, reason: String)
    /// A partition is not consumed until the broker tells the range of offsets that it has.
    case partitionWaiting(TopicPartition, reason: String)
    /// The broker has more of a partition than was read, and nothing comes.
    case partitionSilent(TopicPartition, reason: String)
    /// Something came of a partition that was silent, or nothing is to be expected.
    case partitionHeard(TopicPartition)
    /// A partition is consumed again, or is no longer assigned.
    case partitionReleased(TopicPartition)
    /// The work on the store that the worker waits for is at a step.
    case working(ProgressMeter.Step)
    /// The worker finishes its open work, and stops.
    case draining
}
