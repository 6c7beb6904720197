import KafkaClient
import ObjectGraph

@testable import IngestCore
@testable import RecordDecoding

/// Records and positions of a partition `t/0` for tests of its state.
enum PartitionFixture {
    static let place = TopicPartition("t", 0)
    static let fault = ReadFault(reason: "a reason", remedy: "a remedy")

    /// The fingerprint of a record that a number names.
    static func fingerprint(_ payload: Int) -> RecordFingerprint {
        var record = SourceRecord(
            place: RecordPlace(topic: "t", partition: 0, offset: 0), key: nil, value: nil)
        record.timestampMilliseconds = Int64(payload)
        return RecordFingerprint(record)
    }

    /// A position of the store, behind the record that `last` names, which stands right before it or at an offset.
    static func position(
        _ next: Int64, last: Int? = nil, at offset: Int64? = nil, in partition: TopicPartition = place
    ) -> SourcePosition {
        let record = last.map { LastRecord(offset: offset ?? next - 1, fingerprint: fingerprint($0)) }
        return SourcePosition(
            topic: partition.topic, partition: partition.partition, nextOffset: next,
            detail: record?.detail(before: next))
    }
}

/// The answer of a state to a record.
struct ReceivedRecord: Equatable {
    let verdict: RecordVerdict
    let actions: [PartitionAction]

    static let applied = ReceivedRecord(verdict: .apply, actions: [])
    static let dropped = ReceivedRecord(verdict: .skip, actions: [])
}

extension PartitionState {
    /// Takes a record that a number names.
    mutating func receive(_ offset: Int64, payload: Int = 0) -> ReceivedRecord {
        var actions: [PartitionAction] = []
        let verdict = receive(offset: offset, fingerprint: PartitionFixture.fingerprint(payload), actions: &actions)
        return ReceivedRecord(verdict: verdict, actions: actions)
    }
}
