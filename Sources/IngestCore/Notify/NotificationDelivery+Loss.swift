import GraphCore
import KafkaClient
import RecordDecoding

// Notifications that the broker lost.
extension NotificationDelivery {
    /// Goes back to the last token that the topic still holds, or to the beginning of the history where that is later.
    ///
    /// The last token's own transaction is sent again, too: it may have lost some of its notifications.
    ///
    /// - Parameter first: a cursor up to which nothing is lost.
    func sendAgain(
        _ loss: SentTopic.Loss, _ sent: SentTopic, from first: Int64 = 0, through cursor: Int64
    ) throws -> DeliveredBatch {
        let purged = try store.read { try $0.purgedToken() }
        let start = min(cursor, max((loss.lastEntry ?? 0) - 1, purged, first))
        let kept = loss.lastEntry.map { "ends at token \($0)" } ?? "holds no notification"
        var reason = "the broker lost notifications: \(sent.topic) \(kept), and \(cursor) was notified"
        reason += "; they are sent again after token \(start)"
        if loss.lastEntry ?? 0 < start {
            reason += ". The history begins there: readers that miss earlier ones have to read the store again"
        }
        logger.error("the broker lost notifications", metadata: ["reason": "\(reason)"])
        metrics?.notificationsLost.increment(by: Int(cursor - start))
        health?.report(.outputLost(topic: sent.topic, reason: reason))
        sent.sendAgain(loss, from: start, through: cursor)
        return DeliveredBatch(cursor: start, count: 0)
    }

    /// The token of a record of the topic; nil where it is none of this store's notifications.
    func token(_ record: ConsumedRecord) throws -> Int64? {
        let parser = JSONParser()
        guard let value = record.value, let root = try? parser.parse(Array(value)).root else { return nil }
        let (token, epochNumber) = withExtendedLifetime(parser) { () -> (Int64?, Int64) in
            guard root.member("source")?.string == "/ingest-worker/\(storeIdentity)", let data = root.member("data")
            else { return (nil, 0) }
            return (data.member("token")?.int64, data.member("epoch")?.int64 ?? 0)
        }
        return try token.map { token in try store.read { try $0.historyEpochs() }.shared(token, of: epochNumber) }
    }
}
