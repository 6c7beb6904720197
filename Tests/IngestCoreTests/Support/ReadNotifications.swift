import KafkaClient

@testable import IngestCore

extension Collection<ProducerRecord> {
    /// The notifications that the records carry. A tombstone has the token of the record before it.
    var notifications: [ChangeNotification] {
        var token: Int64 = 0
        return map { record in
            let value = record.value.map { String(decoding: $0, as: UTF8.self) }
            token = value?.firstMatch(of: /"token":(\d+)/).flatMap { Int64($0.1) } ?? token
            return ChangeNotification(
                token: token, key: record.key.map { String(decoding: $0, as: UTF8.self) }, value: value)
        }
    }
}
