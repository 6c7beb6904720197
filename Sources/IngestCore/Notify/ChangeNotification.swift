import GraphCore
import KafkaClient

/// A notification as it is sent.
package struct ChangeNotification: Sendable, Equatable {
    /// The history token of its transaction.
    package let token: Int64
    /// The record's key, the object's entity and identity; nil for a notification of a transaction.
    package let key: String?
    /// The CloudEvent as JSON, or nil for the tombstone that follows a deletion on a compacted topic.
    package let value: String?
    /// The W3C trace context of the transaction's first record, or nil.
    package var trace: String?

    /// The record that carries the notification; without a key it goes to partition 0.
    func record(topic: String) -> ProducerRecord {
        var headers = [RecordHeader("content-type", [UInt8]("application/cloudevents+json".utf8))]
        if let trace { headers.append(RecordHeader(TraceParent.name, [UInt8](trace.utf8))) }
        return ProducerRecord(
            topic: topic, partition: key == nil ? 0 : nil, key: key.map { [UInt8]($0.utf8) },
            value: value.map { [UInt8]($0.utf8) }, headers: headers)
    }
}

/// Turns history transactions into notifications: CloudEvents in JSON.
package struct NotificationBuilder: Sendable {
    private let granularity: NotificationConfiguration.Granularity
    private let maximumBytes: Int
    private let source: String
    private let model: ObjectModel

    /// Makes a builder; `storeIdentity` tells stores apart in the events' `source`.
    package init(configuration: NotificationConfiguration, storeIdentity: String, model: ObjectModel) {
        granularity = configuration.granularity
        maximumBytes = configuration.maxBytes
        source = "/ingest-worker/\(storeIdentity)"
        self.model = model
    }

    /// Returns a transaction's notifications in the order of its changes.
    ///
    /// - Parameters:
    ///   - transaction: a transaction, or a page of a large one.
    ///   - firstPart: the number of the page's first part.
    ///   - values: returns an object's present values as a JSON object, or nil where it is gone or not wanted.
    ///   - isWanted: selects the changes. A transaction or page without any has no notification, unless it ends a
    ///     transaction that had one.
    package func notifications(
        for transaction: HistoryTransaction, firstPart: Int = 1,
        values: (HistoryChange) throws -> String? = { _ in nil }, isWanted: (HistoryChange) -> Bool = { _ in true }
    ) rethrows -> [ChangeNotification] {
        var notifications: [ChangeNotification] = []
        try build(transaction, firstPart: firstPart, values: values, isWanted: isWanted) { notifications.append($0) }
        return notifications
    }

    /// Calls `take` with a transaction's notifications one by one: notifications with values may be large together.
    ///
    /// For the parameters see ``notifications(for:firstPart:values:isWanted:)``.
    func build(
        _ transaction: HistoryTransaction, firstPart: Int = 1,
        values: (HistoryChange) throws -> String?, isWanted: (HistoryChange) -> Bool = { _ in true },
        take: (ChangeNotification) throws -> Void
    ) rethrows {
        switch granularity {
        case .transaction: try byTransaction(transaction, firstPart, isWanted).forEach(take)
        case .object: try byObject(transaction, isWanted, values, take)
        }
    }

    // MARK: Per transaction

    /// One event, or several with consecutive parts where one would be larger than the broker takes.
    private func byTransaction(
        _ transaction: HistoryTransaction, _ firstPart: Int, _ isWanted: (HistoryChange) -> Bool
    ) -> [ChangeNotification] {
        // The envelope around the changes; 128 bytes are for the identifier, the part's numbers and punctuation.
        let frame = envelope(transaction, id: "", data: head(transaction)).utf8.count + 128
        let room = max(1024, maximumBytes - frame)
        var parts: [[String]] = [[]]
        var size = 0
        for change in transaction.changes where isWanted(change) {
            let whole = json(change)
            let text = whole.utf8.count > room ? json(change, isShortened: true) : whole
            if size + text.utf8.count + 1 > room, !(parts.last?.isEmpty ?? true) {
                parts.append([])
                size = 0
            }
            parts[parts.count - 1].append(text)
            size += text.utf8.count + 1
        }
        let endsParts = firstPart > 1 && transaction.nextIndex == nil
        if parts == [[]], !transaction.changes.isEmpty, !endsParts { return [] }
        return parts.enumerated().map { index, changes in
            let isLast = index == parts.count - 1 && transaction.nextIndex == nil
            let isSplit = parts.count > 1 || transaction.changes.count < transaction.changeCount
            let number = firstPart + index
            let part = isSplit ? ",\"part\":\(number),\"last\":\(isLast)" : ""
            let data = "{\(head(transaction))\(part),\"changes\":[\(changes.joined(separator: ","))]}"
            let id = isSplit ? "\(mark(transaction)).\(number)" : mark(transaction)
            return ChangeNotification(
                token: transaction.token, key: nil, value: envelope(transaction, id: id, data: data),
                trace: transaction.trace)
        }
    }

    // MARK: Per object

    private func byObject(
        _ transaction: HistoryTransaction, _ isWanted: (HistoryChange) -> Bool,
        _ values: (HistoryChange) throws -> String?, _ take: (ChangeNotification) throws -> Void
    ) rethrows {
        for (index, change) in transaction.changes.enumerated() where isWanted(change) {
            let current = try values(change).map { ",\"values\":\($0)" } ?? ""
            let id = "\(mark(transaction)).\(transaction.firstIndex + index + 1)"
            var value = objectEvent(transaction, id: id, json(change), current)
            let key = "\(change.entity):\(identityText(change))"
            if value.utf8.count + key.utf8.count > maximumBytes {
                value = objectEvent(transaction, id: id, json(change, isShortened: true), "")
            }
            try take(ChangeNotification(token: transaction.token, key: key, value: value, trace: transaction.trace))
            // Compaction keeps the last record of a key permanently, unless its value is null.
            if change.kind == .delete {
                try take(ChangeNotification(token: transaction.token, key: key, value: nil, trace: transaction.trace))
            }
        }
    }

    private func objectEvent(
        _ transaction: HistoryTransaction, id: String, _ change: String, _ values: String
    ) -> String {
        let data = "{\(head(transaction)),\(change.dropFirst().dropLast())\(values)}"
        return envelope(transaction, id: id, data: data)
    }

    // MARK: JSON

    /// The token, with its epoch where numbers have come again: no two transactions of a store have one mark.
    private func mark(_ transaction: HistoryTransaction) -> String {
        transaction.epoch == 0 ? "\(transaction.token)" : "\(transaction.token)@\(transaction.epoch)"
    }

    private func envelope(_ transaction: HistoryTransaction, id: String, data: String) -> String {
        // The extension of CloudEvents for distributed tracing; the context is plain hexadecimal.
        let trace = transaction.trace.map { "\"\(TraceParent.name)\":\"\($0)\"," } ?? ""
        return "{\"specversion\":\"1.0\",\"id\":\"\(id)\",\"source\":\"\(source)\",\"type\":\"store.changed\","
            + "\"time\":\"\(Timestamp.text(transaction.time))\",\(trace)\"datacontenttype\":\"application/json\",\"data\":\(data)}"
    }

    private func head(_ transaction: HistoryTransaction) -> String {
        let source = transaction.source.map { JSONText.string($0) } ?? "null"
        let epoch = transaction.epoch == 0 ? "" : "\"epoch\":\(transaction.epoch),"
        return
            "\"token\":\(transaction.token),\(epoch)\"author\":\(JSONText.string(transaction.author)),\"source\":\(source)"
    }

    /// A change that alone is larger than the broker takes is shortened, and says so. It has no properties, tombstone
    /// or values, but still names the object and the kind of change.
    private func json(_ change: HistoryChange, isShortened: Bool = false) -> String {
        var output = "{\"entity\":\(JSONText.string(change.entity)),\"id\":"
        identityType(change).appendJSON(change.identity, to: &output)
        output += ",\"change\":\"\(change.kind.name)\""
        if isShortened { return output + ",\"shortened\":true}" }
        if change.kind == .update {
            output += ",\"properties\":[\(change.properties.map { JSONText.string($0) }.joined(separator: ","))]"
        }
        if let tombstone = change.tombstone { output += ",\"tombstone\":\(tombstone)" }
        return output + "}"
    }

    private func identityType(_ change: HistoryChange) -> AttributeType {
        model.entity(named: change.entity)?.identity.type ?? .string
    }

    private func identityText(_ change: HistoryChange) -> String { identityType(change).text(of: change.identity) }
}
